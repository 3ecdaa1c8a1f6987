package managedledger

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// adder is what durable adds are measured on.
type adder interface {
	add(payload []byte) error
	addAsync(payload []byte, done func()) error
}

// rawFile is the limit: one file, one committer that writes what has gathered,
// syncs once and wakes all who waited.
type rawFile struct {
	file  *os.File
	sync  time.Duration
	mu    sync.Mutex
	ready *sync.Cond
	next  *rawGroup
	ended chan struct{}
	stop  bool
}

type rawGroup struct {
	bytes     []byte
	callbacks []func()
	done      chan struct{}
}

func newRawFile(b *testing.B, delay time.Duration) *rawFile {
	file, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	r := &rawFile{file: file, sync: delay, next: &rawGroup{done: make(chan struct{})}, ended: make(chan struct{})}
	r.ready = sync.NewCond(&r.mu)
	go r.commit()
	b.Cleanup(func() {
		r.mu.Lock()
		r.stop = true
		r.ready.Signal()
		r.mu.Unlock()
		<-r.ended
		_ = file.Close()
	})
	return r
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r *rawFile) put(payload []byte, done func()) *rawGroup {
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(payload, castagnoli))
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.next
	if len(g.bytes) == 0 {
		r.ready.Signal()
	}
	g.bytes = append(append(g.bytes, head[:]...), payload...)
	if done != nil {
		g.callbacks = append(g.callbacks, done)
	}
	return g
}

func (r *rawFile) add(payload []byte) error {
	<-r.put(payload, nil).done
	return nil
}

func (r *rawFile) addAsync(payload []byte, done func()) error {
	r.put(payload, done)
	return nil
}

func (r *rawFile) commit() {
	defer close(r.ended)
	var spare []byte
	for {
		r.mu.Lock()
		for len(r.next.bytes) == 0 && !r.stop {
			r.ready.Wait()
		}
		if len(r.next.bytes) == 0 {
			r.mu.Unlock()
			return
		}
		g := r.next
		r.next = &rawGroup{bytes: spare[:0], done: make(chan struct{})}
		r.mu.Unlock()
		if _, err := r.file.Write(g.bytes); err != nil {
			panic(err)
		}
		if err := syscall.Fdatasync(int(r.file.Fd())); err != nil {
			panic(err)
		}
		if r.sync > 0 {
			delay(r.sync)
		}
		spare = g.bytes
		close(g.done)
		for _, c := range g.callbacks {
			c()
		}
	}
}

func delay(d time.Duration) { <-time.After(d) }

type managed struct{ m *ManagedLedger }

func (m managed) add(payload []byte) error {
	_, err := m.m.Add(context.Background(), payload)
	return err
}

func (m managed) addAsync(payload []byte, done func()) error {
	return m.m.AddAsync([][]byte{payload}, func(_ AddResult, err error) {
		if err != nil {
			panic(err)
		}
		done()
	})
}

// openManaged opens a log over a store for a benchmark.
func openManaged(b *testing.B, ledgers sdk.LedgerStore, metadata sdk.MetadataStore, info sdk.Info) *ManagedLedger {
	pool, err := scheduling.NewPool(scheduling.DefaultPoolConfig())
	if err != nil {
		b.Fatal(err)
	}
	cache, err := entrycache.New(entrycache.DefaultConfig(), pool)
	if err != nil {
		b.Fatal(err)
	}
	c := DefaultConfig()
	c.MaxBytesPerLedger = 2 << 30
	m, err := Open(b.Context(), "bench", Settings{
		Ledgers: ledgers, Metadata: metadata, Store: info, Executor: pool, Cache: cache,
	}, c, OpenOptions{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if err := pool.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return m
}

func onMemory(b *testing.B, _ time.Duration) adder {
	s := memory.Open()
	return managed{openManaged(b, s, s.Metadata(), s.Info())}
}

func onPebble(b *testing.B, delay time.Duration) adder {
	s, err := pebble.Open(filepath.Join(b.TempDir(), "pebble"), pebble.Options{SyncDelay: delay})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	return managed{openManaged(b, s, s.Metadata(), s.Info())}
}

// rate adds for some time by that many producers, each with so many adds
// outstanding, and returns entries a second.
func rate(b *testing.B, a adder, producers, outstanding, size int, long time.Duration) float64 {
	payload := make([]byte, size)
	var stop atomic.Bool
	var total atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range producers {
		wg.Go(func() {
			n := int64(0)
			room := make(chan struct{}, outstanding)
			for !stop.Load() {
				var err error
				if outstanding == 1 {
					err = a.add(payload)
				} else {
					room <- struct{}{}
					err = a.addAsync(payload, func() { <-room })
				}
				if err != nil {
					b.Error(err)
					return
				}
				n++
			}
			for range cap(room) {
				if outstanding > 1 {
					room <- struct{}{}
				}
			}
			total.Add(n)
		})
	}
	delay(long)
	stop.Store(true)
	wg.Wait()
	return float64(total.Load()) / time.Since(begin).Seconds()
}

// BenchmarkAdd compares durable adds with the raw file, in interleaved rounds.
func BenchmarkAdd(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(*testing.B, time.Duration) adder
	}{{"memory", onMemory}, {"pebble", onPebble}} {
		for _, extra := range []time.Duration{0, 2 * time.Millisecond} {
			if store.name == "memory" && extra > 0 {
				continue
			}
			for _, c := range []struct{ producers, outstanding, size int }{
				{1, 1, 128}, {16, 1, 128}, {500, 1, 128}, {500, 16, 128}, {500, 1, 1024},
			} {
				name := fmt.Sprintf("%s/%dx%d/%dB/sync+%s", store.name, c.producers, c.outstanding, c.size, extra)
				b.Run(name, func(b *testing.B) {
					raw, log := newRawFile(b, extra), store.open(b, extra)
					const long = 400 * time.Millisecond
					rate(b, log, c.producers, c.outstanding, c.size, long/4)
					rate(b, raw, c.producers, c.outstanding, c.size, long/4)
					var raws, logs, ratios, allocs []float64
					for b.Loop() {
						r := rate(b, raw, c.producers, c.outstanding, c.size, long)
						before := mallocs()
						l := rate(b, log, c.producers, c.outstanding, c.size, long)
						allocs = append(allocs, (mallocs()-before)/(l*long.Seconds()))
						raws, logs, ratios = append(raws, r), append(logs, l), append(ratios, l/r)
					}
					b.ReportMetric(median(allocs), "allocs/add")
					b.ReportMetric(median(raws), "raw/s")
					b.ReportMetric(median(logs), "log/s")
					b.ReportMetric(median(ratios), "ratio")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// mallocs returns how many allocations were made so far, by everybody.
func mallocs() float64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.Mallocs)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkAllocations counts what an add allocates, beside its payload.
func BenchmarkAllocations(b *testing.B) {
	for _, n := range []int{1, 16, 500} {
		b.Run(fmt.Sprintf("waiting/%d", n), func(b *testing.B) {
			m := onMemory(b, 0).(managed).m
			payload := make([]byte, 128)
			b.ReportAllocs()
			b.SetParallelism(max(1, n/2))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := m.Add(context.Background(), payload); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
	b.Run("callback", func(b *testing.B) {
		m := onMemory(b, 0).(managed).m
		payloads := [][]byte{make([]byte, 128)}
		var wg sync.WaitGroup
		done := func(AddResult, error) { wg.Done() }
		b.ReportAllocs()
		for b.Loop() {
			wg.Add(1)
			for m.AddAsync(payloads, done) != nil {
				wg.Done()
				wg.Wait()
				wg.Add(1)
			}
		}
		wg.Wait()
	})
}
