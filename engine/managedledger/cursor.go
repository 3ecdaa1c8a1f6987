package managedledger

import (
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger/ackset"
	"github.com/tidemark-engine/tidemark/sdk"
)

// CursorOptions say how a cursor is opened.
type CursorOptions struct {
	// Durable makes the cursor survive its owner. Until every durable cursor has
	// acknowledged an entry, the log keeps it.
	Durable bool
	// From is where a cursor begins that is made.
	From Start
	// MustExist fails with reason.ErrCursorNotFound instead of making the
	// cursor, MustCreate with reason.ErrCursorExists if it is there.
	MustExist, MustCreate bool
}

// Cursor is a named reading position of a managed ledger: what was acknowledged,
// and where the next read begins. Its methods may be called from any goroutine;
// those with a context wait, and must not be called from a callback of the same
// log.
type Cursor struct {
	reader
	name    string
	durable bool

	// saver is what a durable cursor needs to be written down; guarded by mu.
	saver saver
}

// newCursor returns a cursor that has acknowledged everything up to mark.
func newCursor(m *ManagedLedger, name string, durable bool, mark sdk.Position) *Cursor {
	c := &Cursor{
		reader:  reader{m: m, label: m.name + "#" + name},
		name:    name,
		durable: durable,
	}
	c.acks = ackset.New(mark, func(p sdk.Position) sdk.Position {
		next, _ := m.current().start(p.Next())
		return next
	})
	c.saver.saved = mark
	return c
}

// Name returns the cursor's name.
func (c *Cursor) Name() string { return c.name }

// Durable says whether the cursor survives its owner.
func (c *Cursor) Durable() bool { return c.durable }

// ReadPosition returns where the next read begins.
func (c *Cursor) ReadPosition() sdk.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, _ := c.next(c.m.current(), c.place)
	return at
}

// MarkDelete returns the position up to which everything is acknowledged or
// gone. Its entry is sdk.NoEntry where that is all before a ledger.
func (c *Cursor) MarkDelete() sdk.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mark(c.m.current())
}

// mark is MarkDelete. Called with mu.
func (c *Cursor) mark(v *view) sdk.Position {
	mark := c.acks.MarkDelete()
	if v.trimmed == notTrimmed || mark.After(v.trimmed) {
		return mark
	}
	if len(v.ledgers) == 0 {
		return v.trimmed
	}
	return sdk.Position{Ledger: v.ledgers[0].id, Entry: sdk.NoEntry}
}

// Backlog returns the number of entries that are kept and not acknowledged. It
// is exact and cheap.
func (c *Cursor) Backlog() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backlog(c.m.current())
}

// backlog is Backlog. Called with mu.
func (c *Cursor) backlog(v *view) int64 {
	mark := c.mark(v)
	return max(v.between(mark, v.lac)-c.acks.CountIn(mark, v.lac), 0)
}

// HasMore says whether there is something to read at or behind the cursor's
// place.
func (c *Cursor) HasMore() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.m.current()
	at, _ := c.next(v, c.place)
	return v.readable(at)
}

// CursorStats is a snapshot of a cursor for people and metrics.
type CursorStats struct {
	Name    string
	Durable bool
	// MarkDelete, ReadPosition and Backlog are what the methods return.
	MarkDelete, ReadPosition sdk.Position
	Backlog                  int64
	// AcknowledgedBeyond is the number of entries behind MarkDelete that are
	// acknowledged one by one.
	AcknowledgedBeyond int64
	// Reading says that a read is in flight, Waiting that it waits for entries.
	Reading, Waiting bool
	// RangesLeftOut is how many ranges of acknowledged entries were beyond
	// Config.MaxAckRanges when the cursor was last written down; they would come
	// again after a crash.
	RangesLeftOut int
	// Unsaved says that there are acknowledgements that are not durable yet, and
	// SaveFailures how often writing them down has failed in a row.
	Unsaved      bool
	SaveFailures int
	// LastSaved is when the cursor was last written down.
	LastSaved time.Time
}

// Stats returns a snapshot.
func (c *Cursor) Stats() CursorStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.m.current()
	mark := c.mark(v)
	at, _ := c.next(v, c.place)
	return CursorStats{
		Name: c.name, Durable: c.durable,
		MarkDelete: mark, ReadPosition: at, Backlog: c.backlog(v),
		AcknowledgedBeyond: c.acks.CountIn(mark, v.lac),
		Reading:            c.op != nil,
		Waiting:            c.parked,
		RangesLeftOut:      c.saver.leftOut,
		Unsaved:            c.saver.dirty || c.saver.writing,
		SaveFailures:       c.saver.failures,
		LastSaved:          c.saver.at,
	}
}
