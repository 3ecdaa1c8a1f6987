package managedledger

import (
	"github.com/tidemark-engine/tidemark/sdk"
)

// maxReadAhead bounds one storage read of a cursor that is behind, in bytes.
const maxReadAhead = 4 << 20

// readAhead makes a cursor that is behind read more than it was asked for, into
// the cache: the next reads find it there, so that catching up does not depend
// on how small the reads are. It begins when storage reads follow each other,
// doubles with each, and becomes smaller when what was read ahead did not stay
// in the cache until it was wanted. The zero value reads nothing ahead.
type readAhead struct {
	end    sdk.Position // behind the last storage read
	window int64        // bytes
}

// readPlan is how much a storage read asks for.
type readPlan struct {
	last     sdk.EntryID
	bytes    int // 0: no bound
	estimate int64
}

// plan says how far the storage read of op goes. It is called with the reader's
// lock.
func (a *readAhead) plan(op *readOp) readPlan {
	average := max(op.average, 1)
	asked := op.run.Len() * average
	plan := readPlan{last: op.run.Last, bytes: op.room()}
	if plan.bytes > 0 {
		asked = min(asked, int64(plan.bytes))
	}
	plan.estimate = asked
	if op.r.acks == nil {
		return plan
	}
	at := sdk.Position{Ledger: op.run.Ledger, Entry: op.run.First}
	most := min(maxReadAhead, op.r.m.settings.Cache.MaxBytes()/16)
	switch {
	case a.follows(at, average):
		a.window = min(max(2*a.window, 2*asked), most)
	case at.Ledger == a.end.Ledger && at.Before(a.end):
		a.window /= 2 // it did not stay in the cache
	default:
		a.window = 0
	}
	if a.window > asked {
		plan.last = min(op.last, max(plan.last, op.run.First+sdk.EntryID(a.window/average)))
		plan.bytes = int(a.window)
		plan.estimate = a.window
	}
	return plan
}

// follows says whether at is where the last storage read has ended, a little
// behind (what was acknowledged in between is not read), or the beginning of a
// ledger behind it.
func (a *readAhead) follows(at sdk.Position, average int64) bool {
	if at.Ledger == a.end.Ledger {
		gap := int64(at.Entry - a.end.Entry)
		return a.end.Entry > 0 && gap >= 0 && gap <= maxReadAhead/average
	}
	return at.Entry == 0 && at.Ledger > a.end.Ledger && a.end.Entry > 0
}
