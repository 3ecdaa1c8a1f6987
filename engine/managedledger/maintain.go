package managedledger

import (
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Maintain does what is due by time: it rolls a ledger that is too old, unless
// it is empty, looks whether ledgers may be trimmed, and gives up a writer that
// does not answer. It is called by one ticker for all logs, and costs a log
// that has nothing to do a few loads.
func (m *ManagedLedger) Maintain(now time.Time) {
	v := m.current()
	if !v.state.readable() {
		return
	}
	m.kick()
	m.trimSoon()
	c := m.config()
	_, open := v.openLedger()
	age := now.Sub(time.Unix(0, m.openedAt.Load()))
	old := open && v.openBytes > 0 && c.MaxLedgerAge > 0 && age >= c.MaxLedgerAge && age > c.MinLedgerAge
	sent := m.sentAt.Load()
	stuck := sent != 0 && c.StoreTimeout > 0 && now.Sub(time.Unix(0, sent)) > c.StoreTimeout
	if old || stuck || v.state == StateWriteFailed {
		// If the lane is full, the next tick asks again.
		_ = m.lane.Post(scheduling.KindOther, scheduling.TaskFunc(func() { m.maintain(now, c) }))
	}
}

// maintain looks again, on the lane.
func (m *ManagedLedger) maintain(now time.Time, c *Config) {
	l := &m.lanes
	if l.jobs.stopped != nil {
		return
	}
	w := l.writing
	if w == nil {
		w = l.old
	}
	if w != nil && w.failed == nil && len(w.sent) > 0 && c.StoreTimeout > 0 && now.Sub(w.sent[0].at) > c.StoreTimeout {
		m.writerFailed(w, fmt.Errorf("%w: ledger %d has not acknowledged for %s", sdk.ErrUnavailable, w.id, now.Sub(w.sent[0].at)))
		return
	}
	if l.writing != nil && l.writing.next > 0 && c.MaxLedgerAge > 0 && now.Sub(l.writing.opened) >= c.MaxLedgerAge {
		m.retire(l.writing)
		return
	}
	if l.writing == nil && l.old != nil {
		m.needLedger()
	}
}
