package pebble

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// compactions lets one compaction run at a time. Unlike the scheduler that
// Pebble brings, it has no goroutine: an idle store does not tick, and an
// opening that fails half-way leaves nothing behind.
type compactions struct {
	db pebble.DBForCompaction // set once, before all else

	mu       sync.Mutex // guards what follows; not held while db is called
	changed  sync.Cond  // told when granting ends
	running  bool
	granting bool // db is being asked for the next one
	again    bool // db may have one that it did not have when it was asked
	ended    bool
}

func newCompactions() *compactions {
	c := &compactions{}
	c.changed.L = &c.mu
	return c
}

// Register implements [pebble.CompactionScheduler].
func (c *compactions) Register(_ int, db pebble.DBForCompaction) { c.db = db }

// Unregister implements [pebble.CompactionScheduler].
func (c *compactions) Unregister() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for c.granting {
		c.changed.Wait()
	}
}

// TrySchedule implements [pebble.CompactionScheduler]. Pebble does not ask
// again after it was refused; it waits to be asked.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running || c.granting || c.ended {
		c.again = true
		return false, nil
	}
	c.running = true
	return true, c
}

// UpdateGetAllowedWithoutPermission implements [pebble.CompactionScheduler].
// One is allowed, whatever happens.
func (c *compactions) UpdateGetAllowedWithoutPermission() {}

// Done implements [pebble.CompactionGrantHandle]: the next one may run. It may
// be called for that one while this call still asks for it.
func (c *compactions) Done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.again = false, true
	if c.granting {
		return
	}
	c.granting = true
	for c.again && !c.running && !c.ended {
		c.again = false
		c.grant()
	}
	c.granting = false
	c.changed.Broadcast()
}

// grant asks the database for a compaction. Call it with the mutex held, which
// it gives up meanwhile.
func (c *compactions) grant() {
	c.mu.Unlock()
	waiting, _ := c.db.GetWaitingCompaction()
	c.mu.Lock()
	if !waiting {
		return
	}
	c.running = true
	c.mu.Unlock()
	accepted := c.db.Schedule(c)
	c.mu.Lock()
	if !accepted {
		c.running = false
	}
}

// Started implements [pebble.CompactionGrantHandle].
func (c *compactions) Started() {}

// MeasureCPU implements [pebble.CompactionGrantHandle].
func (c *compactions) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements [pebble.CompactionGrantHandle].
func (c *compactions) CumulativeStats(pebble.CompactionGrantHandleStats) {}
