package managedledger

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Seek moves the cursor: everything before the new place counts as acknowledged,
// everything behind as not. The next read begins there, and so does one in
// flight whose end was not handed over: it begins again. When Seek returns nil,
// the move is durable if the cursor is; if it returns an error of the store the
// cursor has moved, and writing that down is tried again.
func (c *Cursor) Seek(ctx context.Context, to Start) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	after, err := c.moveTo(to)
	if err != nil {
		return fmt.Errorf("seek in cursor %q: %w", c.name, err)
	}
	after()
	c.mu.Lock()
	return c.saveAndWait(ctx)
}

// moveTo moves the cursor, not yet what is stored of it.
func (c *Cursor) moveTo(to Start) (after func(), err error) {
	s := &c.m.cursors
	s.placing.Lock()
	defer s.placing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.m.current()
	if err := c.checkAcks(v, nil, nil); err != nil {
		return nil, err
	}
	c.place = s.keep(v, to.resolve(v))
	c.acks.Reset(v.markBefore(c.place))
	c.saver.dirty = c.durable
	return c.moved(), nil
}

// SeekTime moves the cursor to the first entry that was published at or after t,
// or to the tail if there is none. See [ManagedLedger.FindTime].
func (c *Cursor) SeekTime(ctx context.Context, t time.Time) error {
	at, err := c.m.FindTime(ctx, t)
	if err != nil {
		return err
	}
	return c.Seek(ctx, At(at))
}

// Rewind lets the next read, and one in flight, begin at the first entry that is
// not acknowledged.
func (c *Cursor) Rewind() {
	c.mu.Lock()
	c.place = c.acks.MarkDelete().Next()
	after := c.moved()
	c.mu.Unlock()
	after()
}

// Skip acknowledges the next n entries that are not acknowledged, or all there
// are. See [Cursor.Acknowledge].
func (c *Cursor) Skip(ctx context.Context, n int64) error {
	if n < 0 {
		return fmt.Errorf("%w: skip %d entries", sdk.ErrInvalid, n)
	}
	c.mu.Lock()
	v := c.m.current()
	to, mark := c.nthUnacked(v, n), c.mark(v)
	c.mu.Unlock()
	if !to.After(mark) {
		return nil
	}
	return c.AcknowledgeUpTo(ctx, to)
}

// nthUnacked returns the position of the n-th kept entry that is not
// acknowledged, or of the last confirmed one if there are fewer. Called with mu.
func (c *Cursor) nthUnacked(v *view, n int64) sdk.Position {
	mark := c.mark(v)
	at := mark
	for rank, missing := int64(0), n; missing > 0 && at != v.lac; missing = n - (rank - c.acks.CountIn(mark, at)) {
		rank += missing
		at = v.nth(mark, rank)
	}
	return at
}

// Clear acknowledges all that is confirmed now. See [Cursor.Acknowledge].
func (c *Cursor) Clear(ctx context.Context) error {
	return c.AcknowledgeUpTo(ctx, c.m.current().lac)
}

// Expire acknowledges the entries that were published before a time, and returns
// how many that were. See [ManagedLedger.FindTime] and [Cursor.Acknowledge].
func (c *Cursor) Expire(ctx context.Context, publishedBefore time.Time) (int64, error) {
	keep, err := c.m.FindTime(ctx, publishedBefore)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	v := c.m.current()
	to, mark := v.markBefore(keep), c.mark(v)
	if !to.After(mark) {
		c.mu.Unlock()
		return 0, nil
	}
	n := v.between(mark, to) - c.acks.CountIn(mark, to)
	c.mu.Unlock()
	return n, c.AcknowledgeUpTo(ctx, to)
}

// markBefore returns the mark-delete position of a cursor that begins at p: the
// last entry before p that is kept, or was trimmed, or the place before the
// first.
func (v *view) markBefore(p sdk.Position) sdk.Position {
	mark := v.previous(p)
	if v.trimmed != notTrimmed && mark.Before(v.trimmed) && p.After(v.trimmed) {
		return v.trimmed
	}
	return mark
}
