package managedledger

import (
	"context"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/engine/managedledger/ackset"
	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// readOp is one read: a chain of steps, each begun by the end of the one
// before, on whatever goroutine that was. So its fields need no lock, but for
// those that say so. It ends in exactly one of three ways: its end is handed
// over, it is cancelled while parked, or it is abandoned.
type readOp struct {
	r *reader

	config  *Config
	max     Max
	options ReadOptions
	ctx     context.Context         // of who waits; nil if nobody does
	done    func(ReadResult, error) // nil if somebody waits

	// mayBlock says that this goroutine may wait for a store.
	mayBlock bool

	// What it has found, and where it goes on.
	epoch     uint64
	pos       sdk.Position
	entries   []Entry
	bytes     int
	full      bool // by bytes
	gone      bool
	goneUntil sdk.Position
	trimmed   sdk.Position // what was trimmed when gone was found
	tries     int
	failure   error

	// The ledger read under way.
	lac     sdk.Position // the LAC when it was started
	run     ackset.Range // what is left of it
	last    sdk.EntryID  // last readable entry of that ledger
	average int64        // bytes of an entry, 0 if unknown
	within  bool         // a part has come, and the rest of run is to be read
	kind    scheduling.Handle
	reply   atomic.Uint32
	answer  [][]byte
	refusal error

	// Made once, so that a storage read needs no new ones.
	onHandle readerFunc
	onReply  func([][]byte, error)

	// Guarded by r.mu.
	abandoned bool
	cancelled bool   // by CancelWait, while it was not parked
	cancel    func() // ends the storage read
	ended     bool   // result and failure are there for who waits
	result    ReadResult
	// signal gets a value when ended was set, or a parked read was woken.
	signal chan struct{}
}

func newReadOp(r *reader) *readOp {
	op := &readOp{r: r, signal: make(chan struct{}, 1)}
	op.onHandle, op.onReply = op.handle, op.replied
	return op
}

// restart begins again at the reader's place. Called with r.mu.
func (op *readOp) restart() {
	op.epoch, op.pos = op.r.epoch, op.r.place
	op.entries, op.bytes, op.full = nil, 0, false
	op.gone, op.trimmed = false, notTrimmed
	op.within, op.tries = false, 0
}

// forget lets go of what the caller of a read owns. Called with r.mu.
func (op *readOp) forget() {
	op.done, op.options, op.ctx, op.entries = nil, ReadOptions{}, nil, nil
	op.result, op.failure, op.ended, op.cancelled = ReadResult{}, nil, false, false
}

// proceed goes on here until the read has ended, waits, or goes on elsewhere.
func (op *readOp) proceed() {
	for op.step() {
	}
}

// outlook is what locate has found.
type outlook uint8

const (
	toRead  outlook = iota
	nothing         // within the bounds of the read, now
	useless         // the read is not wanted any more
	failing
)

// step does one ledger read, or a part of one. False means that this goroutine
// is through with the read, and must not touch it.
func (op *readOp) step() (more bool) {
	if !op.within {
		found, err := op.locate()
		switch found {
		case nothing:
			return op.dry()
		case useless:
			return false
		case failing:
			return op.end(err)
		}
		if op.options.Skip != nil && !op.narrow() {
			return op.decide()
		}
	}
	op.within = false
	cached := op.r.m.settings.Cache.Get(sdk.LedgerID(op.run.Ledger), op.run.First, op.run.Last, op.room())
	if len(cached) > 0 {
		return op.arrived(cached)
	}
	return op.fetch()
}

// room returns how many bytes may still come; 0 means no bound.
func (op *readOp) room() int {
	if op.max.Bytes == 0 {
		return 0
	}
	return max(op.max.Bytes-op.bytes, 1)
}

// beyond says whether p lies behind the caller's bound.
func (op *readOp) beyond(p sdk.Position) bool {
	return op.options.UpTo != nil && p.After(*op.options.UpTo)
}

// locate picks the entries of the next ledger read: the first run of what is to
// be read, in one ledger, up to the LAC of this moment.
func (op *readOp) locate() (outlook, error) {
	r := op.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if op.abandoned {
		return useless, nil
	}
	if op.epoch != r.epoch {
		op.restart()
	}
	v := r.m.current()
	if !v.state.readable() {
		return failing, v.ended()
	}
	at, lost := r.next(v, op.pos)
	if lost {
		if len(op.entries) > 0 {
			return nothing, nil // hand over; the next read says what is lost
		}
		op.gone, op.goneUntil, op.trimmed = true, at, v.trimmed
	}
	op.pos, op.lac = at, v.lac
	i, found := v.find(at.Ledger)
	if !found || !v.readable(at) || op.beyond(at) {
		return nothing, nil
	}
	entries := v.entries(i)
	op.last, op.average = sdk.EntryID(entries-1), v.bytes(i)/max(entries, 1)
	op.run = ackset.Range{Ledger: at.Ledger, First: at.Entry}
	op.run.Last = min(op.last, at.Entry+sdk.EntryID(op.max.Entries-len(op.entries))-1)
	if to := op.options.UpTo; to != nil && to.Ledger == at.Ledger {
		op.run.Last = min(op.run.Last, to.Entry)
	}
	if r.acks != nil {
		op.run = wantedRun(r.acks, op.run)
	}
	return toRead, nil
}

// maxHole is how many acknowledged entries are read with those around them, and
// left out when they have come, instead of beginning another ledger read.
const maxHole = 32

// wantedRun returns the first run of within that is not acknowledged, and what
// follows it behind small holes.
func wantedRun(acks *ackset.Set, within ackset.Range) ackset.Range {
	run, _ := acks.FirstRun(within)
	for run.Last < within.Last {
		next, more := acks.FirstRun(ackset.Range{Ledger: run.Ledger, First: run.Last + 1, Last: within.Last})
		if !more || next.First-run.Last > maxHole {
			break
		}
		run.Last = next.Last
	}
	return run
}

// narrow cuts the run to its first part that the caller does not skip; false if
// all of it is skipped.
func (op *readOp) narrow() bool {
	p := sdk.Position{Ledger: op.run.Ledger, Entry: op.run.First}
	for p.Entry <= op.run.Last && op.options.Skip(p) {
		p.Entry++
	}
	op.pos, op.run.First = p, p.Entry
	for p.Entry <= op.run.Last && !op.options.Skip(p) {
		p.Entry++
	}
	op.run.Last = p.Entry - 1
	return op.run.First <= op.run.Last
}

// arrived takes in payloads from op.run.First on.
func (op *readOp) arrived(payloads [][]byte) (more bool) {
	if int64(len(payloads)) > op.run.Len() {
		payloads = payloads[:op.run.Len()]
	}
	if !op.take(payloads) {
		return true
	}
	op.tries = 0
	if !op.full && op.pos.Entry <= op.run.Last {
		op.run.First, op.within = op.pos.Entry, true
		return true
	}
	return op.decide()
}

// take appends the payloads whose entries were not acknowledged meanwhile. False
// means that the reader was moved or closed, or the log lost, and they are of no
// use.
func (op *readOp) take(payloads [][]byte) bool {
	r := op.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if op.abandoned || op.epoch != r.epoch || !r.m.current().state.readable() {
		return false
	}
	if op.entries == nil {
		op.entries = make([]Entry, 0, op.expected(len(payloads)))
	}
	got := ackset.Range{Ledger: op.run.Ledger, First: op.run.First, Last: op.run.First + sdk.EntryID(len(payloads)) - 1}
	for rest := got; rest.First <= rest.Last && !op.full; {
		part, some := rest, true
		if r.acks != nil {
			part, some = r.acks.FirstRun(rest)
		}
		if !some {
			break
		}
		op.append(part, payloads[part.First-got.First:part.Last-got.First+1])
		rest.First = part.Last + 1
	}
	if !op.full {
		op.pos = sdk.Position{Ledger: got.Ledger, Entry: got.Last + 1}
	}
	return true
}

// expected is for how many entries to make room when n have come.
func (op *readOp) expected(n int) int {
	if op.max.Bytes > 0 {
		return n
	}
	return int(op.run.Len())
}

// append adds entries as far as the caller's bytes allow.
func (op *readOp) append(part ackset.Range, payloads [][]byte) {
	at := sdk.Position{Ledger: part.Ledger, Entry: part.First}
	for _, p := range payloads {
		if op.max.Bytes > 0 && op.bytes+len(p) > op.max.Bytes && len(op.entries) > 0 {
			op.full, op.pos = true, at
			return
		}
		op.entries = append(op.entries, Entry{Position: at, Payload: p})
		op.bytes += len(p)
		at.Entry++
	}
	if op.max.Bytes > 0 && op.bytes >= op.max.Bytes {
		op.full, op.pos = true, at
	}
}

// decide asks the policy whether the read is complete, and holds its answer to
// what is never allowed: to go beyond the bounds, or to end with nothing while
// something may be read.
func (op *readOp) decide() (more bool) {
	m := op.r.m
	v := m.current()
	next, _ := v.start(op.pos)
	readable := v.readable(next) && !op.beyond(next)
	if len(op.entries) > 0 && (op.full || len(op.entries) >= op.max.Entries || !readable) {
		return op.end(nil)
	}
	if !readable {
		return true
	}
	decision := op.config.ReadPolicy.Decide(readpolicies.Progress{
		Wanted:        op.max.Entries,
		Collected:     len(op.entries),
		AtSnapshot:    op.pos.After(op.lac),
		MoreConfirmed: readable,
		AtBound:       op.beyond(op.pos),
		NextLedger:    next.Ledger != op.run.Ledger,
	})
	if decision == readpolicies.Complete && len(op.entries) > 0 {
		return op.end(nil)
	}
	if decision == readpolicies.ContinueOnLane && m.lane.Post(scheduling.KindReadExtension, (*extension)(op)) == nil {
		return false
	}
	return true
}

// extension is the lane task that goes on with a read.
type extension readOp

func (t *extension) Run() {
	op := (*readOp)(t)
	op.mayBlock = false
	op.proceed()
}
