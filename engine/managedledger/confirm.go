package managedledger

import (
	"errors"
	"fmt"

	"github.com/tidemark-engine/tidemark/sdk"
)

// confirm ends the first n batches that the writer has, all of them answered:
// cache, LAC, next hand-over, wake-ups, answers; each one step for all.
func (m *ManagedLedger) confirm(w *writing, n int) {
	lac, bytes := m.current().lac, int64(0)
	caching := m.cursors.active()
	var failure error
	done := 0
	for _, s := range w.sent[:n] {
		got, err := s.outcome()
		if got > 0 {
			first := sdk.Position{Ledger: w.id, Entry: s.first}
			s.batch.confirm(first, got)
			lac = sdk.Position{Ledger: w.id, Entry: s.first + sdk.EntryID(got) - 1}
			bytes += s.bytes(got)
			if caching {
				m.settings.Cache.Add(w.id, s.first, s.payloads()[:got])
			}
			m.totals.confirmed(got, s.bytes(got))
		}
		if failure = err; failure != nil {
			break
		}
		done++
	}
	finished := m.takeSent(w, done)
	if bytes > 0 || lac != m.current().lac {
		m.publish(func(v *view) { v.lac, v.openBytes = lac, v.openBytes+bytes })
	}
	if failure == nil && m.lanes.stalled {
		m.send()
	}
	m.waiters.wakeAll()
	for i, b := range finished {
		finished[i] = nil
		m.finish(b)
	}
	if failure != nil {
		m.writerFailed(w, failure)
	}
}

// outcome returns how many entries were acknowledged and what became of the
// rest.
func (s *sentBatch) outcome() (got int, err error) {
	got = int(min(max(s.last-s.first+1, 0), sdk.EntryID(s.count)))
	if s.err == nil && got < s.count {
		return got, fmt.Errorf("%w: store acknowledged entries up to %d of ledger %d without error, but was given entries up to %d",
			sdk.ErrUnknownOutcome, s.last, s.to.id, s.first+sdk.EntryID(s.count)-1)
	}
	return got, s.err
}

// bytes returns the size of the first n entries.
func (s *sentBatch) bytes(n int) (bytes int64) {
	if n == len(s.batch.payloads) {
		return s.batch.bytes
	}
	for _, p := range s.payloads()[:n] {
		bytes += int64(len(p))
	}
	return bytes
}

// takeSent takes the first n batches off the writer's list.
func (m *ManagedLedger) takeSent(w *writing, n int) []*batch {
	finished := m.lanes.finished[:0]
	for _, s := range w.sent[:n] {
		s.batch.sent = false
		finished = append(finished, s.batch)
	}
	rest := copy(w.sent, w.sent[n:])
	clear(w.sent[rest:])
	w.sent = w.sent[:rest]
	m.noteSent(w)
	m.lanes.finished = finished
	return finished
}

// noteSent keeps for Maintain when the oldest unanswered batch was handed over.
func (m *ManagedLedger) noteSent(w *writing) {
	if len(w.sent) > 0 {
		m.sentAt.Store(w.sent[0].at.UnixNano())
	} else {
		m.sentAt.Store(0)
	}
}

// writerFailed gives up a writer that could not store a batch. Only recovery
// tells what it has stored; what it has not goes to a new ledger.
func (m *ManagedLedger) writerFailed(w *writing, cause error) {
	w.failed = cause
	if errors.Is(cause, sdk.ErrFenced) || errors.Is(cause, sdk.ErrLedgerNotFound) {
		m.fence(fmt.Errorf("ledger %d was taken away from its writer: %w", w.id, cause))
		return
	}
	m.log.Warn("append failed, switching to a new ledger", "ledger", w.id, "pending", len(w.sent), "error", cause)
	m.retire(w)
	m.needLedger()
}

// retire ends writing to a ledger that is full or failed, or that is to be
// closed for another reason.
func (m *ManagedLedger) retire(w *writing) {
	if m.lanes.writing != w {
		return
	}
	m.lanes.old, m.lanes.writing = w, nil
	m.publish(func(v *view) { v.state = StateSealing })
	m.needLedger()
}
