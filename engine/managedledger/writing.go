package managedledger

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// writing is the open ledger while this owner writes to it. A ledger that
// failed is never written to again: its writing is given up and the answers that
// its writer still owes change nothing.
type writing struct {
	m      *ManagedLedger
	writer sdk.LedgerWriter
	id     sdk.LedgerID
	opened time.Time

	// Only the lane touches these.
	next     sdk.EntryID  // id of the next entry
	bytes    int64        // handed over
	sent     []*sentBatch // handed over and not confirmed, in order
	failed   error        // why the writer takes no more batches
	settling bool         // settle is on the stack

	// recovering says that this owner opened the ledger with recovery. What
	// the writer says from then on, "fenced" above all, is of its own making.
	recovering atomic.Bool

	// Written by the job that ends the ledger, read by the lane afterwards.
	// mustRecover is set by the lane before that: sealing would not do.
	mustRecover bool

	settled bool
	entries int64 // true number of entries
	size    int64 // and of their bytes

	// mu guards draining and the answers in sent batches.
	mu sync.Mutex
	// draining says that the lane is going to look at the answers.
	draining bool
}

// handOver gives a batch, or what is left of it, to the writer.
func (w *writing) handOver(b *batch) {
	s := &b.handed
	if s.to != nil {
		s = new(sentBatch)
	}
	*s = sentBatch{to: w, batch: b, from: b.acked, count: len(b.payloads) - b.acked, first: w.next, at: time.Now()}
	b.sent = true
	w.next += sdk.EntryID(s.count)
	w.bytes += s.bytes(s.count)
	if len(w.sent) == 0 {
		w.m.sentAt.Store(s.at.UnixNano())
	}
	w.sent = append(w.sent, s)

	// Stores that answer before Append returns need no task for it.
	w.mu.Lock()
	held := w.draining
	w.draining = true
	w.mu.Unlock()
	w.append(s)
	if !held {
		w.settle()
	}
	if w.m.lanes.writing == w {
		w.roll(s.at)
	}
}

// append calls the store. If it panics the batch has failed.
func (w *writing) append(s *sentBatch) {
	defer func() {
		if p := recover(); p != nil {
			s.done(s.first-1, fmt.Errorf("%w: store panicked: %v", sdk.ErrUnknownOutcome, p))
		}
	}()
	w.writer.Append(sdk.Batch{First: s.first, Entries: s.payloads(), Done: s.done})
}

// roll marks the ledger full when a limit is reached.
func (w *writing) roll(now time.Time) {
	c := w.m.config()
	age := now.Sub(w.opened)
	switch {
	case c.MinLedgerAge > 0 && age <= c.MinLedgerAge:
	case c.MaxEntriesPerLedger > 0 && int64(w.next) >= c.MaxEntriesPerLedger,
		c.MaxBytesPerLedger > 0 && w.bytes >= c.MaxBytesPerLedger,
		c.MaxLedgerAge > 0 && age >= c.MaxLedgerAge:
		w.m.lanes.wanted = true
		w.m.retire(w)
	}
}

// done takes the store's answer, on any goroutine, and sees to it that the lane
// looks at it. An answer that comes twice is ignored.
func (s *sentBatch) done(last sdk.EntryID, err error) {
	w := s.to
	w.mu.Lock()
	if s.answered {
		w.mu.Unlock()
		return
	}
	s.answered, s.last, s.err = true, last, err
	tell := !w.draining
	w.draining = true
	w.mu.Unlock()
	if !tell {
		return
	}
	if err := w.m.lane.Run(scheduling.KindAddCompletion, w); err != nil {
		w.m.post(scheduling.KindAddCompletion, w)
	}
}

// Run is the lane task that looks at the answers.
func (w *writing) Run() { w.settle() }

// settle confirms what the store has answered, in order, until there is no
// more.
func (w *writing) settle() {
	if w.settling {
		return
	}
	w.settling = true
	for {
		w.mu.Lock()
		n := 0
		for n < len(w.sent) && w.sent[n].answered {
			n++
		}
		// In this order: an answer that comes of our own recovery is seen only
		// after the flag was set.
		stop := n == 0 || w.failed != nil || w.recovering.Load()
		w.draining = !stop
		w.mu.Unlock()
		if stop {
			break
		}
		w.m.confirm(w, n)
	}
	w.settling = false
}
