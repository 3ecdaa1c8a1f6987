// Package entrycache keeps recent entries in memory for all managed ledgers of
// a process, lets equal storage reads share one, and bounds the bytes that
// storage reads have in flight.
//
// Entries come and go in runs, as they were confirmed or read: one step per
// batch, not per entry. Entries are immutable, so what the cache hands out may
// be kept by whoever gets it, also after the cache has dropped it. The slices of
// entries it hands out are shared between readers: nobody changes them.
//
// Ledgers are told apart by their id alone, so one cache serves one store.
package entrycache

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Config bounds the cache. It may be changed while the cache is in use.
type Config struct {
	// MaxBytes bounds the entries held, each counted as its payload and
	// [EntryOverhead]; 0 turns caching off, and neither merging nor the limit
	// on reads in flight with it. Adds that happen at the same time may exceed
	// it by what each of them adds, for as long as it takes to evict.
	MaxBytes int64
	// Watermark is the share of MaxBytes down to which an eviction by size
	// goes, in (0, 1].
	Watermark float64
	// TTL is how long an entry stays at most, as far as [Cache.Evict] is
	// called; 0 means no limit.
	TTL time.Duration
	// MaxReadBytes bounds the estimated bytes of storage reads in flight; 0
	// means no bound. A read larger than that is admitted when no other is in
	// flight.
	MaxReadBytes int64
	// MaxWaitingReads bounds the reads that wait for room; a read beyond it
	// fails with [sdk.ErrBusy].
	MaxWaitingReads int
}

// EntryOverhead is what an entry counts for beside its payload, so that a
// cache of empty entries is bounded too.
const EntryOverhead = 32

// DefaultConfig returns what suits a daemon that has a machine to itself.
func DefaultConfig() Config {
	return Config{
		MaxBytes:        256 << 20,
		Watermark:       0.9,
		TTL:             10 * time.Second,
		MaxReadBytes:    128 << 20,
		MaxWaitingReads: 10_000,
	}
}

func (c *Config) check() error {
	switch {
	case c.MaxBytes < 0, c.TTL < 0, c.MaxReadBytes < 0, c.MaxWaitingReads < 0:
		return fmt.Errorf("entry cache: no limit may be negative: %+v: %w", *c, sdk.ErrInvalid)
	case !(c.Watermark > 0 && c.Watermark <= 1):
		return fmt.Errorf("entry cache: watermark is %v, must be above 0 and at most 1: %w", c.Watermark, sdk.ErrInvalid)
	}
	return nil
}

// low is the number of bytes down to which an eviction by size goes.
func (c *Config) low() int64 { return int64(float64(c.MaxBytes) * c.Watermark) }

// shards is a power of two. Ledger ids rise by one, so their low bits spread.
const shards = 16

// Cache keeps entries and shares storage reads. All methods may be called at
// the same time from many goroutines; none waits for storage, and no callback
// runs under a lock.
type Cache struct {
	config   atomic.Pointer[Config]
	executor scheduling.Executor
	limiter  limiter
	shards   [shards]shard
	// epoch is when the cache was made; ages are measured from it.
	epoch time.Time
	// bytes is the sum of what the shards hold.
	bytes atomic.Int64
	// shrinking is true from when bytes exceeded the limit until an eviction
	// has reached the watermark.
	shrinking atomic.Bool
	// evicting is held by the one goroutine that evicts by size. It is only
	// tried, never waited for, except by Configure and Evict.
	evicting sync.Mutex
}

// New makes an empty cache. The executor runs the starts of reads that had to
// wait for room.
func New(config Config, executor scheduling.Executor) (*Cache, error) {
	if executor == nil {
		return nil, errors.New("entry cache: an executor is needed for reads that wait for room")
	}
	c := &Cache{executor: executor, epoch: time.Now()}
	c.limiter.executor = executor
	for i := range c.shards {
		s := &c.shards[i]
		s.cache = c
		s.ledgers = map[sdk.LedgerID]*ledger{}
		s.flights = map[sdk.LedgerID][]*flight{}
		s.oldest.Store(math.MaxInt64)
	}
	if err := c.Configure(config); err != nil {
		return nil, err
	}
	return c, nil
}

// Configure changes the limits. What is beyond the new ones goes at once. A
// limit that makes no sense is [sdk.ErrInvalid] and changes nothing.
func (c *Cache) Configure(config Config) error {
	if err := config.check(); err != nil {
		return err
	}
	c.config.Store(&config)
	c.limiter.configure(config.MaxReadBytes, config.MaxWaitingReads)
	if c.bytes.Load() > config.MaxBytes {
		c.evictTo(config.low())
	}
	return nil
}

func (c *Cache) shard(id sdk.LedgerID) *shard { return &c.shards[uint64(id)%shards] }

// Add keeps entries that were confirmed or read: payloads[0] is the entry
// first of the ledger, the others follow without a gap. Entries that are there
// already are left out. The payloads must never change; the slice is the
// caller's again when Add returns. What is larger than the whole cache is not
// kept.
func (c *Cache) Add(id sdk.LedgerID, first sdk.EntryID, payloads [][]byte) {
	config := c.config.Load()
	if len(payloads) == 0 || first < 0 || config.MaxBytes == 0 {
		return
	}
	s := c.shard(id)
	now := time.Since(c.epoch)
	s.mu.Lock()
	added := s.add(id, first, payloads, now, config)
	s.mu.Unlock()
	c.makeRoom(added)
}

// Get returns the longest run of entries from first that is in the cache, not
// beyond last, cut where the sum of the payloads would exceed maxBytes (0: not
// cut) but never before the first entry; nil if the first is not there. The
// slice is shared: nobody changes it.
func (c *Cache) Get(id sdk.LedgerID, first, last sdk.EntryID, maxBytes int) [][]byte {
	if c.config.Load().MaxBytes == 0 {
		return nil
	}
	s := c.shard(id)
	var room [16][][]byte // on the stack: reads over more runs are rare
	s.mu.Lock()
	pieces := s.collect(room[:0], id, first, last, maxBytes)
	if len(pieces) > 0 {
		s.hits++
	}
	s.mu.Unlock()
	return join(pieces, maxBytes)
}

// DropLedger forgets a ledger that was deleted.
func (c *Cache) DropLedger(id sdk.LedgerID) {
	s := c.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := s.ledgers[id]; l != nil && len(l.runs) > 0; {
		s.drop(l.runs[0])
	}
	for _, f := range s.flights[id] {
		f.keep = false
	}
}

// MaxBytes returns the bound on the entries held; 0 means that caching is off.
func (c *Cache) MaxBytes() int64 { return c.config.Load().MaxBytes }
