package managedledger

import (
	"context"
	"fmt"

	"github.com/tidemark-engine/tidemark/engine/managedledger/ackset"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// Acknowledge acknowledges single entries. When it returns nil that is durable,
// if the cursor is. A position where no entry is, or none confirmed, is
// reason.ErrPositionInvalid, and then nothing is acknowledged; entries that were
// acknowledged or trimmed before are fine.
//
// When writing the acknowledgement down fails, the error says so; still it
// counts, and writing it down is tried again until it succeeds or the cursor is
// closed.
func (c *Cursor) Acknowledge(ctx context.Context, positions ...sdk.Position) error {
	return c.acknowledge(ctx, positions, nil)
}

// AcknowledgeUpTo acknowledges all entries up to p, p included. See
// [Cursor.Acknowledge].
func (c *Cursor) AcknowledgeUpTo(ctx context.Context, p sdk.Position) error {
	return c.acknowledge(ctx, nil, &p)
}

// AcknowledgeAsync acknowledges all entries up to upTo, if it is not nil, and
// single ones, and does not wait. done is called exactly once, under no lock,
// possibly before AcknowledgeAsync returns; it must not block. See
// [Cursor.Acknowledge].
func (c *Cursor) AcknowledgeAsync(positions []sdk.Position, upTo *sdk.Position, done func(error)) {
	if err := c.markAcknowledged(positions, upTo); err != nil {
		done(err)
		return
	}
	c.save(done, false)
}

func (c *Cursor) acknowledge(ctx context.Context, positions []sdk.Position, upTo *sdk.Position) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.markAcknowledged(positions, upTo); err != nil {
		return err
	}
	return c.saveAndWait(ctx)
}

// saveAndWait writes the cursor down and waits for it. It is called with mu and
// releases it.
func (c *Cursor) saveAndWait(ctx context.Context) error {
	if !c.durable {
		c.mu.Unlock()
		return nil
	}
	done := make(chan error, 1)
	c.save(func(err error) { done <- err }, true)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// markAcknowledged changes the set. If it returns nil, it leaves mu locked, for
// save.
func (c *Cursor) markAcknowledged(positions []sdk.Position, upTo *sdk.Position) error {
	c.mu.Lock()
	v := c.m.current()
	err := c.checkAcks(v, positions, upTo)
	if err != nil {
		c.mu.Unlock()
		return fmt.Errorf("acknowledge in cursor %q: %w", c.name, err)
	}
	changed := false
	if upTo != nil {
		changed = c.acks.MoveTo(*upTo)
	}
	for i := 0; i < len(positions); {
		run := runOf(positions[i:])
		changed = c.acks.AddRange(run) > 0 || changed
		i += int(run.Len())
	}
	c.saver.dirty = c.saver.dirty || changed && c.durable
	return nil
}

// runOf returns the first positions as far as each follows the one before.
func runOf(positions []sdk.Position) ackset.Range {
	n := 1
	for n < len(positions) && positions[n] == positions[n-1].Next() {
		n++
	}
	return ackset.Range{Ledger: positions[0].Ledger, First: positions[0].Entry, Last: positions[n-1].Entry}
}

// checkAcks says what may not be acknowledged. Called with mu.
func (c *Cursor) checkAcks(v *view, positions []sdk.Position, upTo *sdk.Position) error {
	switch {
	case c.closed != nil:
		return c.closed
	case !v.state.readable():
		return v.ended()
	}
	if upTo != nil {
		if err := v.checkAck(*upTo, sdk.NoEntry); err != nil {
			return err
		}
	}
	for _, p := range positions {
		if err := v.checkAck(p, 0); err != nil {
			return err
		}
	}
	return nil
}

// checkAck returns an error if p is not a confirmed entry, or was one, or has
// an entry below least.
func (v *view) checkAck(p sdk.Position, least sdk.EntryID) error {
	if p.Entry < least || p.Ledger < 0 || p.After(v.end()) {
		return fmt.Errorf("%w: %s is not an entry of the log, whose last confirmed one is %s", reason.ErrPositionInvalid, p, v.lac)
	}
	if i, found := v.find(p.Ledger); found && int64(p.Entry) >= v.entries(i) && p.Entry != sdk.NoEntry {
		return fmt.Errorf("%w: %s, but ledger %d ends at entry %d", reason.ErrPositionInvalid, p, p.Ledger, v.entries(i)-1)
	}
	return nil
}
