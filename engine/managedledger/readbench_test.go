package managedledger

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// bench makes a log on a store, with a pool of its own.
func bench(b *testing.B, store interface {
	sdk.LedgerStore
	sdk.Plugin
	Metadata() sdk.MetadataStore
}) *house {
	pool, err := scheduling.NewPool(scheduling.DefaultPoolConfig())
	if err != nil {
		b.Fatal(err)
	}
	cache, err := entrycache.New(entrycache.DefaultConfig(), pool)
	if err != nil {
		b.Fatal(err)
	}
	h := &house{t: b, config: DefaultConfig()}
	h.config.RetentionBytes, h.config.RetentionTime = -1, -1
	h.settings = Settings{
		Ledgers: store, Metadata: store.Metadata(), Store: store.Info(), Executor: pool, Cache: cache,
	}
	b.Cleanup(func() {
		pool.Close(context.Background())
		store.Close(context.Background())
	})
	return h
}

// tailer reads for ever: each callback starts the next read.
type tailer struct {
	c       *Cursor
	began   time.Time
	mu      sync.Mutex // guards latency against the final merge
	latency *hdr.Histogram
	read    func(ReadResult, error)
}

func (r *tailer) next() { _ = r.c.ReadAsync(Max{Entries: 100}, ReadOptions{Wait: true}, r.read) }

func (r *tailer) got(result ReadResult, err error) {
	if err != nil {
		return
	}
	now := time.Since(r.began)
	r.mu.Lock()
	for _, e := range result.Entries {
		r.latency.RecordValue(int64(now) - int64(binary.LittleEndian.Uint64(e.Payload)))
	}
	r.mu.Unlock()
	r.next()
}

// BenchmarkTail measures append to callback at 2,000 appends a second, from the
// cache.
func BenchmarkTail(b *testing.B) {
	for _, cursors := range []int{1, 20, 500} {
		b.Run(fmt.Sprintf("%d cursors", cursors), func(b *testing.B) {
			h := bench(b, memory.Open())
			m := h.open("tail")
			began := time.Now()
			var all []*tailer
			for i := range cursors {
				c, err := m.OpenCursor(h.ctx(), fmt.Sprint(i), CursorOptions{From: Latest()})
				if err != nil {
					b.Fatal(err)
				}
				r := &tailer{c: c, began: began, latency: hdr.New(1, int64(time.Minute), 3)}
				r.read = r.got
				r.next()
				all = append(all, r)
			}
			tick := time.NewTicker(500 * time.Microsecond)
			b.ReportAllocs()
			for b.Loop() {
				<-tick.C
				payload := make([]byte, 128)
				binary.LittleEndian.PutUint64(payload, uint64(time.Since(began)))
				if _, err := m.Add(context.Background(), payload); err != nil {
					b.Fatal(err)
				}
			}
			tick.Stop()
			h.close(m)
			sum := hdr.New(1, int64(time.Minute), 3)
			for _, r := range all {
				r.mu.Lock()
				sum.Merge(r.latency)
				r.mu.Unlock()
			}
			b.ReportMetric(float64(sum.ValueAtPercentile(50))/1000, "p50-µs")
			b.ReportMetric(float64(sum.ValueAtPercentile(99))/1000, "p99-µs")
		})
	}
}

// BenchmarkCatchUp measures a cursor that is behind, on pebble: entries of 128
// bytes a second.
func BenchmarkCatchUp(b *testing.B) {
	for _, most := range []int{10, 100, 500} {
		b.Run(fmt.Sprintf("batch %d", most), func(b *testing.B) {
			store, err := pebble.Open(b.TempDir(), pebble.Options{})
			if err != nil {
				b.Fatal(err)
			}
			h := bench(b, store)
			m := h.open("behind")
			const batch, entries = 2000, 400_000
			for range entries / batch {
				payloads := make([][]byte, batch)
				for i := range payloads {
					payloads[i] = make([]byte, 128)
				}
				if _, err := m.Add(h.ctx(), payloads...); err != nil {
					b.Fatal(err)
				}
			}
			c, err := m.OpenCursor(h.ctx(), "late", CursorOptions{})
			if err != nil {
				b.Fatal(err)
			}
			read, ctx := 0, context.Background()
			b.ReportAllocs()
			for b.Loop() {
				r, err := c.Read(ctx, Max{Entries: most})
				if err != nil {
					b.Fatal(err)
				}
				read += len(r.Entries)
				if len(r.Entries) == 0 {
					c.m.settings.Cache.Configure(entrycache.Config{Watermark: 1})
					c.m.settings.Cache.Configure(entrycache.DefaultConfig())
					if err := c.Seek(h.ctx(), Earliest()); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "entries/s")
			h.close(m)
		})
	}
}

// BenchmarkAcknowledge measures single acknowledgements, each answered when it
// is durable, in the order in which 20 consumers would send them.
func BenchmarkAcknowledge(b *testing.B) {
	store, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	h := bench(b, store)
	m := h.open("log")
	const entries, consumers = 200_000, 20
	payloads := make([][]byte, 2000)
	for i := range payloads {
		payloads[i] = make([]byte, 16)
	}
	var where []sdk.Position
	for range entries / len(payloads) {
		r, err := m.Add(h.ctx(), payloads...)
		if err != nil {
			b.Fatal(err)
		}
		for i := range r.Spans()[0].Count {
			where = append(where, sdk.Position{Ledger: r.First().Ledger, Entry: r.First().Entry + sdk.EntryID(i)})
		}
	}
	c := h.cursor(m, "c")
	var answers sync.WaitGroup
	done := func(err error) {
		if err != nil {
			b.Error(err)
		}
		answers.Done()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n := i % entries
		if n == 0 {
			answers.Wait()
			if err := c.Seek(h.ctx(), Earliest()); err != nil {
				b.Fatal(err)
			}
		}
		// Each consumer has runs of 50, and is at another place than the others.
		block, at := n/(50*consumers), n%(50*consumers)
		index := block*50*consumers + at%consumers*50 + at/consumers
		answers.Add(1)
		c.AcknowledgeAsync(where[index:index+1], nil, done)
	}
	answers.Wait()
	h.close(m)
}
