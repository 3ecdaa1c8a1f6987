package entrycache

import (
	"math"
	"time"
)

// Evict forgets what is older than the TTL and ends an eviction by size that
// is under way. The owner of the cache calls it every now and then, at least
// some times within the TTL; the cache has no goroutine of its own.
func (c *Cache) Evict(now time.Time) {
	config := c.config.Load()
	if c.shrinking.Load() {
		c.evictTo(config.low())
	}
	if config.TTL == 0 {
		return
	}
	born := now.Sub(c.epoch) - config.TTL
	for i := range c.shards {
		for c.shards[i].evict(born, evictStep) == evictStep {
		}
	}
}

// evictStep is how many runs go under one hold of a shard's lock.
const evictStep = 256

// evict forgets up to limit runs that were born at or before born, oldest
// first, and returns how many it forgot.
func (s *shard) evict(born time.Duration, limit int) int {
	if s.oldest.Load() > int64(born) {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for ; n < limit && s.queue.head != nil && s.queue.head.born <= born; n++ {
		s.evicted += int64(len(s.queue.head.payloads))
		s.drop(s.queue.head)
	}
	return n
}

// makeRoom evicts after an add when the cache is over its limit. Whoever adds
// pays with a step in proportion to what it added, so that nobody pays for a
// whole tenth of the cache at once; the steps go on until the watermark is
// reached.
func (c *Cache) makeRoom(added int64) {
	config := c.config.Load() // as it is now: whoever lowers a limit looks at bytes after that
	if c.bytes.Load() > config.MaxBytes {
		c.shrinking.Store(true)
	}
	// One goroutine evicts at a time. One that finds another at it leaves the
	// rest to that one, which looks again after it is done.
	for c.shrinking.Load() && c.evicting.TryLock() {
		goal := max(min(c.bytes.Load()-4*added, config.MaxBytes), config.low())
		c.shrink(goal, config)
		c.evicting.Unlock()
		if c.bytes.Load() <= config.MaxBytes {
			return
		}
	}
}

// evictTo evicts until the cache holds at most goal bytes.
func (c *Cache) evictTo(goal int64) {
	c.evicting.Lock()
	c.shrink(goal, c.config.Load())
	c.evicting.Unlock()
	c.makeRoom(0) // for adds that found this at work
}

// shrink evicts the oldest runs of all ledgers until the cache holds at most
// goal bytes. The caller holds c.evicting.
func (c *Cache) shrink(goal int64, config *Config) {
	for c.bytes.Load() > goal {
		if s := c.oldest(); s != nil {
			s.evict(math.MaxInt64, 1)
		}
	}
	if c.bytes.Load() <= config.low() {
		c.shrinking.Store(false)
	}
}

// oldest returns the shard with the oldest run, nil if the cache is empty.
func (c *Cache) oldest() *shard {
	var oldest *shard
	first := int64(math.MaxInt64)
	for i := range c.shards {
		if born := c.shards[i].oldest.Load(); born < first {
			first, oldest = born, &c.shards[i]
		}
	}
	return oldest
}
