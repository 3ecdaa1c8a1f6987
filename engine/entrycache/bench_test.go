package entrycache

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
)

func batch(n int) [][]byte {
	b := make([][]byte, n)
	for i := range b {
		b[i] = make([]byte, 128)
	}
	return b
}

// BenchmarkAdd adds batches to one ledger, with evictions by size as they come.
func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			c := newCache(b, func(c *Config) { c.MaxBytes = 16 << 20 })
			payloads := batch(n)
			var next sdk.EntryID
			b.ReportAllocs()
			for b.Loop() {
				c.Add(1, next, payloads)
				next += sdk.EntryID(n)
			}
			perEntry(b, n)
		})
	}
}

// BenchmarkAddLedgers adds one entry at a time to 500 ledgers in turn.
func BenchmarkAddLedgers(b *testing.B) {
	c := newCache(b, func(c *Config) { c.MaxBytes = 16 << 20 })
	payloads := batch(1)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		c.Add(sdk.LedgerID(i%500), sdk.EntryID(i/500), payloads)
		i++
	}
}

func BenchmarkGet(b *testing.B) {
	for _, added := range []int{1, 100} {
		for _, n := range []int{1, 100} {
			b.Run(fmt.Sprintf("added=%d/read=%d", added, n), func(b *testing.B) {
				c := newCache(b, nil)
				payloads := batch(added)
				for e := 0; e < 100_000; e += added {
					c.Add(1, sdk.EntryID(e), payloads)
				}
				first := 0
				b.ReportAllocs()
				for b.Loop() {
					if len(c.Get(1, sdk.EntryID(first), sdk.EntryID(first+n-1), 1<<20)) == 0 {
						b.Fatal("a miss")
					}
					first = (first + n) % 99_000
				}
				perEntry(b, n)
			})
		}
	}
}

// BenchmarkTail has one appender and readers that follow it, each reading what
// is new, as often as they can. One operation is one batch, appended and read
// by all.
func BenchmarkTail(b *testing.B) {
	for _, readers := range []int{1, 20} {
		for _, n := range []int{1, 100} {
			b.Run(fmt.Sprintf("readers=%d/batch=%d", readers, n), func(b *testing.B) {
				c := newCache(b, nil)
				var lac atomic.Int64
				lac.Store(-1)
				end := int64(b.N * n)
				var all sync.WaitGroup
				moved := sync.NewCond(&sync.Mutex{})
				for range readers {
					all.Go(func() { follow(b, c, &lac, moved, end) })
				}
				payloads := batch(n)
				b.ResetTimer()
				for e := int64(0); e < end; e += int64(n) {
					c.Add(1, sdk.EntryID(e), payloads)
					moved.L.Lock()
					lac.Store(e + int64(n) - 1)
					moved.L.Unlock()
					moved.Broadcast()
				}
				all.Wait()
				perEntry(b, n*readers)
			})
		}
	}
}

func follow(b *testing.B, c *Cache, lac *atomic.Int64, moved *sync.Cond, end int64) {
	for next := int64(0); next < end; {
		for lac.Load() < next {
			moved.L.Lock()
			if lac.Load() < next {
				moved.Wait()
			}
			moved.L.Unlock()
		}
		got := c.Get(1, sdk.EntryID(next), sdk.EntryID(min(lac.Load(), next+99)), 0)
		if len(got) == 0 { // too slow: evicted
			next = lac.Load() + 1
			continue
		}
		next += int64(len(got))
	}
}

// perEntry reports the time for one entry.
func perEntry(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
}

// BenchmarkRead is a read that misses, through a store that answers at once.
func BenchmarkRead(b *testing.B) {
	c := newCache(b, func(c *Config) { c.MaxBytes = 0 })
	s := &instant{payloads: batch(100)}
	done := func(got [][]byte, err error) {}
	b.ReportAllocs()
	for b.Loop() {
		c.Read(background, ReadRequest{Reader: s, Range: sdk.Range{Last: 99}}, here, done)
	}
}

// instant is a ledger that answers within Read.
type instant struct {
	storage
	payloads [][]byte
}

func (s *instant) Read(_ context.Context, _ sdk.Range, done func([][]byte, error)) {
	done(s.payloads, nil)
}
