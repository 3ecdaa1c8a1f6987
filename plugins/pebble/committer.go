package pebble

import (
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
// intake has ended, and closes ended.
type committer struct {
	db      *pebble.DB
	in      *intake
	options Options
	ended   chan struct{}

	group    group
	cohort   int           // units of the last group
	lastSync time.Duration // what the last sync took
}

func (c *committer) run() {
	defer close(c.ended)
	for c.in.await(c.gather()) {
		c.in.take(&c.group, groupBytes)
		failure := c.commit()
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

// commit writes and syncs the group, and makes it readable.
func (c *committer) commit() error {
	batch := c.db.NewBatchWithSize(c.group.bytes + c.group.bytes/16 + 4096)
	defer batch.Close()
	if err := c.group.encode(batch); err != nil {
		return fmt.Errorf("%w: %w", sdk.ErrUnavailable, err)
	}
	if !batch.Empty() {
		if err := c.write(batch); err != nil {
			return fmt.Errorf("%w: %w", sdk.ErrUnknownOutcome, err)
		}
	}
	c.group.confirm()
	return nil
}

func (c *committer) write(batch *pebble.Batch) error {
	if c.options.AcknowledgeBeforeSync {
		return c.db.Apply(batch, pebble.NoSync)
	}
	began := time.Now()
	if err := c.db.Apply(batch, pebble.Sync); err != nil {
		return err
	}
	if c.options.SyncDelay > 0 {
		time.Sleep(c.options.SyncDelay)
	}
	c.lastSync = time.Since(began)
	return nil
}
