package pebble

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

const (
	// groupBytes is how much payload one group takes. It is well below what
	// Pebble would treat as a batch too large for its table in memory.
	groupBytes = 8 << 20
	// comeBack is about what it costs to wake a waiting producer until it has
	// handed over its next entry. A cohort that needs longer for that than a
	// sync takes is not waited for: the cores are busy enough.
	comeBack = time.Microsecond
	// lazySync is how long acknowledged writes stay unsynced with
	// AcknowledgeBeforeSync.
	lazySync = time.Second
)

// committer is the one goroutine that writes. It runs from Open until the
// intake has ended, and closes ended. Its fields are its own.
type committer struct {
	store *Store
	in    *intake
	ended chan struct{}

	group    group
	cohort   int           // units of the last group
	lastSync time.Duration // what the last sync took
	unsynced time.Time     // since when acknowledged writes are not synced; zero if they are
	keeper   keeper
}

func (c *committer) run() {
	defer close(c.ended)
	defer c.keeper.reclaim.stop()
	for {
		units, patience := c.gather()
		if !c.in.await(units, patience, c.alarm()) {
			return
		}
		c.syncLazily()
		c.keeper.look()
		c.in.take(&c.group, groupBytes)
		failure := c.commit()
		if failure != nil {
			c.in.refuseAll(c.group.ledgers, laterFailure(failure))
		}
		c.cohort = c.group.units + len(c.group.changes)
		c.group.tell(failure)
		c.in.finished(&c.group)
		c.group.reset()
	}
}

// gather says for how many units to wait, and how long. Producers that wait
// for their entry come back together; without waiting for them a group would
// hold one half of them and sync while the other half waits for the next.
func (c *committer) gather() (units int, patience time.Duration) {
	if time.Duration(c.cohort)*comeBack > c.lastSync {
		return 1, 0
	}
	return c.cohort, c.lastSync
}

// alarm is after how long to look around although nothing is queued; 0: never.
func (c *committer) alarm() time.Duration {
	if !c.unsynced.IsZero() {
		return lazySync
	}
	return c.keeper.alarm()
}

// commit writes and syncs the group, and makes it readable.
func (c *committer) commit() error {
	if c.keeper.failure != nil {
		return c.refuseChanges(c.keeper.failure)
	}
	if c.keeper.refusal != nil {
		c.group.refuse(c.keeper.refusal)
		c.in.refuseAll(c.group.ledgers, c.keeper.refusal)
	}
	batch := c.store.database.db.NewBatchWithSize(c.group.bytes + c.group.bytes/16 + 4096)
	defer batch.Close()
	if c.store.options.AcknowledgeBeforeSync {
		_ = batch.LogData([]byte(lazyMark), nil) // It never fails.
	}
	if err := c.group.encode(batch); err != nil {
		return fmt.Errorf("%w: %w", sdk.ErrUnavailable, err)
	}
	if !batch.Empty() {
		if err := c.write(batch); err != nil {
			return fmt.Errorf("%w: it may be written or not: %w", sdk.ErrUnknownOutcome, err)
		}
		c.keeper.wrote(c.group.bytes)
	}
	c.group.confirm()
	return nil
}

func (c *committer) refuseChanges(failure error) error {
	for range c.group.changes {
		c.group.refused = append(c.group.refused, failure)
	}
	return failure
}

// write writes the batch and syncs the log. Pebble does not tell all failures;
// the guard does.
func (c *committer) write(batch *pebble.Batch) error {
	options := c.store.options
	began := time.Now()
	mode := pebble.Sync
	if options.AcknowledgeBeforeSync {
		mode = pebble.NoSync
		if c.unsynced.IsZero() {
			c.unsynced = began
		}
	}
	err := c.store.database.db.Apply(batch, mode)
	if broken := c.keeper.guard.err(); broken != nil {
		err = broken
	}
	if err != nil {
		c.keeper.guard.breakWith(err)
		return err
	}
	if options.SyncDelay > 0 && !options.AcknowledgeBeforeSync {
		time.Sleep(options.SyncDelay)
	}
	c.lastSync = time.Since(began)
	return nil
}

// syncLazily syncs what was acknowledged before its sync, when it is time.
func (c *committer) syncLazily() {
	if c.unsynced.IsZero() || time.Since(c.unsynced) < lazySync || c.keeper.failure != nil {
		return
	}
	c.unsynced = time.Time{}
	if err := c.store.database.db.LogData([]byte(lazyMark), pebble.Sync); err != nil {
		c.keeper.guard.breakWith(err)
	}
}

// laterFailure is what adds to a ledger fail with that come behind one that
// failed with err.
func laterFailure(err error) error {
	if errors.Is(err, sdk.ErrUnknownOutcome) {
		return fmt.Errorf("%w: nothing was written, because an add before it failed: %v", sdk.ErrUnavailable, err)
	}
	return err
}
