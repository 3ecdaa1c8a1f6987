package pebble

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// group is what one sync makes durable. The committer uses one again and again.
type group struct {
	ledgers []*ledger // each with its taken requests
	changes []*change
	refused []error // of the changes, in their order; nil for those in the batch
	units   int
	bytes   int

	run     [][]byte // the entries of one ledger, while its blocks are made
	longest int      // how long run was at most
}

func (g *group) reset() {
	clear(g.ledgers)
	clear(g.changes)
	clear(g.run[:g.longest])
	g.ledgers, g.changes, g.refused, g.run = g.ledgers[:0], g.changes[:0], g.refused[:0], g.run[:0]
	if cap(g.run) > keepRun {
		g.run = nil
	}
	g.longest = 0
	g.units, g.bytes = 0, 0
}

// keepRun is for how many entries a group keeps room between commits.
const keepRun = 16 << 10

// encode puts the whole group into batch.
func (g *group) encode(batch *pebble.Batch) error {
	for _, l := range g.ledgers {
		if err := g.encodeLedger(batch, l); err != nil {
			return err
		}
	}
	for _, c := range g.changes {
		g.refused = append(g.refused, c.put(batch))
	}
	return nil
}

// encodeLedger makes blocks of the requests that may be written. They come
// before those that must fail, because the first failure of a ledger is its
// last.
func (g *group) encodeLedger(batch *pebble.Batch, l *ledger) error {
	g.run = g.run[:0]
	for i := range l.taken {
		if l.taken[i].err != nil {
			break
		}
		g.run = append(g.run, l.taken[i].batch.Entries...)
	}
	g.longest = max(g.longest, len(g.run))
	for rest := g.run; len(rest) > 0; {
		count, payloadBytes, blockBytes := cutBlock(rest)
		l.written += sdk.EntryID(count)
		l.total += int64(payloadBytes)
		deferred := batch.SetDeferred(blockKeyBytes, blockBytes)
		appendBlockKey(deferred.Key[:0], l.id, l.written)
		putBlock(deferred.Value, deferred.Key, rest[:count], l.total)
		if err := deferred.Finish(); err != nil {
			return err
		}
		rest = rest[count:]
	}
	return nil
}

// refuse makes all adds of the group fail. The intake refuses what comes behind
// them for the same reason.
func (g *group) refuse(why error) {
	for _, l := range g.ledgers {
		for i := range l.taken {
			if r := &l.taken[i]; r.err == nil {
				r.err = l.wrap(why)
			}
		}
	}
}

// confirm makes what was written readable.
func (g *group) confirm() {
	for _, l := range g.ledgers {
		if state := l.state.Load(); state.LastConfirmed != l.written {
			l.publish(sdk.LedgerState{LastConfirmed: l.written, Bytes: l.total})
		}
	}
}

// tell calls every Done and done of the group. failure is why the group was
// not written, or nil.
func (g *group) tell(failure error) {
	for _, l := range g.ledgers {
		for i := range l.taken {
			r := &l.taken[i]
			switch {
			case r.err != nil:
				r.batch.Done(r.batch.First-1, r.err)
			case failure != nil:
				r.batch.Done(r.batch.First-1, l.wrap(failure))
			default:
				r.batch.Done(r.batch.Last(), nil)
			}
		}
	}
	for i, c := range g.changes {
		if err := g.refused[i]; err != nil {
			c.done(err)
			continue
		}
		c.done(failure)
	}
}
