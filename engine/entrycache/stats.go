package entrycache

// Stats is what the cache holds and what it did since it was made.
type Stats struct {
	// Bytes is what the entries count for, see [Config.MaxBytes].
	Bytes, Entries int64
	// Hits count what Get and Read answered from memory; Misses count reads that
	// needed storage, be it by the storage read of another one. A Get that finds
	// nothing is neither: a read follows it.
	Hits, Misses int64
	// Evicted and Refused count entries: forgotten because of size or age, and
	// not added because they were there already.
	Evicted, Refused int64
	// Merged counts reads that shared the storage read of another one.
	Merged int64
	// ReadsInFlight and ReadBytes are the storage reads in flight and what they
	// are estimated to yield. Waiting is how many wait for room.
	ReadsInFlight int
	ReadBytes     int64
	Waiting       int
}

// Stats returns the present figures. They are taken one shard after the other,
// so they may not fit together exactly while the cache is in use.
func (c *Cache) Stats() Stats {
	var sum Stats
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		sum.Entries += s.entries
		sum.Hits += s.hits
		sum.Misses += s.misses
		sum.Evicted += s.evicted
		sum.Refused += s.refused
		sum.Merged += s.merged
		s.mu.Unlock()
	}
	sum.Bytes = c.bytes.Load()
	l := &c.limiter
	l.mu.Lock()
	sum.ReadsInFlight, sum.ReadBytes, sum.Waiting = l.inFlight, l.used, l.queue.Len()
	l.mu.Unlock()
	return sum
}
