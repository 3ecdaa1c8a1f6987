package managedledger

import (
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Stats is a snapshot of a managed ledger for people and metrics.
type Stats struct {
	State   State
	Ledgers []LedgerStats
	// LastConfirmed is the LAC, First the oldest entry that is kept (or where
	// the next one will be), Trimmed the last one that was removed.
	LastConfirmed, First, Trimmed sdk.Position
	// Entries and Bytes are what is kept.
	Entries, Bytes int64
	// AddedEntries and AddedBytes were acknowledged since this owner opened the
	// log; AddFailures is what Failures returns.
	AddedEntries, AddedBytes int64
	AddFailures              uint64
	// PendingEntries and PendingBytes are taken and not acknowledged.
	PendingEntries int
	PendingBytes   int64
	// WaitingReaders wait for the LAC to move; OpenHandles are of closed ledgers.
	WaitingReaders, OpenHandles int
	// Lane is what the log's lane measured.
	Lane scheduling.LaneStats
	// The choices in force, by name.
	ReadPolicy, Submission, Placement string
}

// LedgerStats is one ledger of a managed ledger.
type LedgerStats struct {
	ID             sdk.LedgerID
	Entries, Bytes int64
	// ClosedAt is zero while the ledger is open.
	ClosedAt time.Time
}

// totals count since the log was opened.
type totals struct{ entries, bytes atomic.Int64 }

func (t *totals) confirmed(entries int, bytes int64) {
	t.entries.Add(int64(entries))
	t.bytes.Add(bytes)
}

// Stats returns a snapshot. It waits for nothing that the lane does.
func (m *ManagedLedger) Stats() Stats {
	v, c := m.current(), m.config()
	s := Stats{
		State:          v.state,
		Ledgers:        make([]LedgerStats, len(v.ledgers)),
		LastConfirmed:  v.lac,
		First:          v.first(),
		Trimmed:        v.trimmed,
		AddedEntries:   m.totals.entries.Load(),
		AddedBytes:     m.totals.bytes.Load(),
		AddFailures:    m.Failures(),
		WaitingReaders: m.waiters.waiting(),
		OpenHandles:    m.handles.open(),
		Lane:           m.lane.Stats(),
		ReadPolicy:     c.ReadPolicy.Name(),
		Submission:     c.Submission.Name(),
		Placement:      c.Placement.String(),
	}
	for i := range v.ledgers {
		l := LedgerStats{v.ledgers[i].id, v.entries(i), v.bytes(i), v.ledgers[i].closedAt}
		s.Ledgers[i] = l
		s.Entries += l.Entries
		s.Bytes += l.Bytes
	}
	s.PendingEntries, s.PendingBytes = m.intake.pending()
	return s
}
