package managedledger

import (
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// maxBatchEntries and maxBatchBytes bound what is handed to a store at once. An
// add is never split, so a larger one is a batch by itself.
const (
	maxBatchEntries = 8192
	maxBatchBytes   = 4 << 20
)

// AddResult says where the entries of one add are.
type AddResult struct {
	span Span
	more []Span // further spans: a store failure split the add
}

// Spans returns where the entries are, in order: one span, or several when a
// store failure split the add over ledgers.
func (r AddResult) Spans() []Span {
	if r.span.Count == 0 {
		return nil
	}
	return append([]Span{r.span}, r.more...)
}

// First returns the position of the add's first entry.
func (r AddResult) First() sdk.Position { return r.span.First }

// Last returns the position of the add's last entry.
func (r AddResult) Last() sdk.Position {
	if n := len(r.more); n > 0 {
		return r.more[n-1].Last()
	}
	return r.span.Last()
}

// batch is adds that gathered in the intake and go through everything
// together: one hand-over, one acknowledgement, one answer. The intake fills
// it; when the lane has taken it, it belongs to the lane; when done is closed
// it never changes again.
type batch struct {
	payloads  [][]byte
	bytes     int64
	callbacks []callback
	// done is closed when the batch was answered; nil if nobody waits.
	done chan struct{}

	// spans say where the entries up to acked are; err is why the ones behind
	// are nowhere. sent says that a store has, or had, entries behind acked and
	// has not said what became of them.
	spans []Span
	first [1]Span // backing of spans, for the common case
	acked int
	sent  bool
	err   error

	// onePayload and oneCallback are the backings of a batch of one entry.
	onePayload  [1][]byte
	oneCallback [1]callback

	// handed is the first hand-over. A further one gets a record of its own.
	handed sentBatch
}

// newBatch makes a batch with room for some entries. What one entry needs is
// part of it, because an add that meets an idle log is a batch by itself.
func newBatch(entries int) *batch {
	b := &batch{}
	b.payloads, b.callbacks = b.onePayload[:0], b.oneCallback[:0]
	if entries > 1 {
		b.payloads = make([][]byte, 0, entries)
	}
	return b
}

// callback is an add that asked to be called.
type callback struct {
	from, count int
	done        func(AddResult, error)
}

// confirm says that the next n entries of the batch are at first and behind.
func (b *batch) confirm(first sdk.Position, n int) {
	if n == 0 {
		return
	}
	if b.spans == nil {
		b.spans = b.first[:0]
	}
	b.spans = append(b.spans, Span{First: first, Count: n})
	b.acked += n
}

// result returns what became of count entries, the from-th on. If only some
// of them were stored it returns where, and the error.
func (b *batch) result(from, count int) (AddResult, error) {
	var r AddResult
	end, offset := from+count, 0
	for _, s := range b.spans {
		lo, hi := max(from, offset), min(end, offset+s.Count)
		if lo < hi {
			at := s.First
			at.Entry += sdk.EntryID(lo - offset)
			part := Span{First: at, Count: hi - lo}
			if r.span.Count == 0 {
				r.span = part
			} else {
				r.more = append(r.more, part)
			}
		}
		offset += s.Count
	}
	if end > b.acked {
		return r, b.err
	}
	return r, nil
}

// answer ends the batch: all who wait are released by one broadcast, then the
// callbacks run in the order of their adds. It runs on the lane, under no lock.
// A callback that panics is reported and does not keep the others from theirs.
func (m *ManagedLedger) answer(b *batch) {
	if b.done != nil {
		close(b.done)
	}
	for next := 0; next < len(b.callbacks); {
		next = m.callFrom(b, next)
	}
	b.callbacks = nil
}

// callFrom runs callbacks from next on and returns the one to go on with.
func (m *ManagedLedger) callFrom(b *batch, next int) (on int) {
	defer func() {
		if p := recover(); p != nil {
			m.log.Error("callback of an add panicked", "panic", p)
			on = next + 1
		}
	}()
	for ; next < len(b.callbacks); next++ {
		c := &b.callbacks[next]
		c.done(b.result(c.from, c.count))
	}
	return next
}

// sentBatch is a batch, or what was left of it, as one writer has it. Every
// hand-over has a new one: a late answer to an old one finds nothing to change.
type sentBatch struct {
	to    *writing
	batch *batch
	from  int // index of the first payload
	count int
	first sdk.EntryID
	at    time.Time

	// The store's answer; guarded by to.mu.
	answered bool
	last     sdk.EntryID
	err      error
}

// payloads returns the entries that were handed over.
func (s *sentBatch) payloads() [][]byte { return s.batch.payloads[s.from : s.from+s.count] }
