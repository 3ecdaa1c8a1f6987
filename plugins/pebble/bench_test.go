package pebble_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

// BenchmarkAdd measures durable adds to one ledger against a raw file with one
// write and one fdatasync per batch. Each iteration is one round: raw, then the
// store; run it with -benchtime=5x. The metric "of-raw" is the median ratio.
func BenchmarkAdd(b *testing.B) {
	for _, delay := range []time.Duration{0, 2 * time.Millisecond} {
		for _, size := range []int{128, 1024} {
			for _, load := range []struct{ producers, outstanding int }{{1, 0}, {16, 0}, {500, 0}, {500, 16}} {
				name := fmt.Sprintf("sync+%v/%dB/%dx%d", delay, size, load.producers, load.outstanding)
				b.Run(name, func(b *testing.B) {
					var raw, store, ratio []float64
					for b.Loop() {
						r := measure(b, openRaw(b, delay), load.producers, load.outstanding, size)
						s := measure(b, openLog(b, delay), load.producers, load.outstanding, size)
						raw, store, ratio = append(raw, r), append(store, s), append(ratio, s/r)
					}
					b.ReportMetric(median(raw), "raw/s")
					b.ReportMetric(median(store), "store/s")
					b.ReportMetric(median(ratio), "of-raw")
					b.ReportMetric(slices.Min(ratio), "of-raw-min")
					b.ReportMetric(slices.Max(ratio), "of-raw-max")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

const cell = 500 * time.Millisecond

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// appender is what both sides of the comparison offer.
type appender interface {
	// append adds a payload and calls done when it is durable.
	append(payload []byte, done func())
	close()
}

// measure returns durable entries a second. With outstanding 0 a producer is a
// goroutine that waits for each entry.
func measure(b *testing.B, log appender, producers, outstanding, size int) float64 {
	defer log.close()
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(rand.Uint32())
	}
	var stop atomic.Bool
	var acked atomic.Int64
	var running sync.WaitGroup
	for range producers {
		running.Go(func() {
			room := make(chan struct{}, max(outstanding, 1))
			done := func() { acked.Add(1); room <- struct{}{} }
			for range cap(room) {
				room <- struct{}{}
			}
			for !stop.Load() {
				<-room
				log.append(payload, done)
			}
			for range cap(room) {
				<-room
			}
		})
	}
	<-time.After(cell / 5)
	before, began := acked.Load(), time.Now()
	<-time.After(cell)
	rate := float64(acked.Load()-before) / time.Since(began).Seconds()
	stop.Store(true)
	running.Wait()
	return rate
}

// storeLog is a ledger of the store; producers share its writer.
type storeLog struct {
	store  *pebble.Store
	writer sdk.LedgerWriter
	mu     sync.Mutex // one Append at a time
	next   sdk.EntryID
}

func openLog(b *testing.B, delay time.Duration) appender {
	store, err := pebble.Open(b.TempDir(), pebble.Options{SyncDelay: delay})
	if err != nil {
		b.Fatal(err)
	}
	writer, err := store.Create(context.Background(), sdk.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return &storeLog{store: store, writer: writer}
}

func (l *storeLog) append(payload []byte, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writer.Append(sdk.Batch{First: l.next, Entries: [][]byte{payload}, Done: func(_ sdk.EntryID, err error) {
		if err != nil {
			panic(err)
		}
		done()
	}})
	l.next++
}

func (l *storeLog) close() { l.store.Close(context.Background()) }

// rawLog is the limit: nothing but a file and a committer.
type rawLog struct {
	file    *os.File
	delay   time.Duration
	mu      sync.Mutex // guards what follows
	ready   *sync.Cond
	bytes   []byte
	waiting []func()
	closed  bool
	ended   chan struct{}
}

func openRaw(b *testing.B, delay time.Duration) appender {
	file, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	l := &rawLog{file: file, delay: delay, ended: make(chan struct{})}
	l.ready = sync.NewCond(&l.mu)
	go l.commit()
	return l
}

func (l *rawLog) append(payload []byte, done func()) {
	var header [8]byte
	binary.LittleEndian.PutUint32(header[:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(header[4:], crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli)))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.ready.Signal()
	}
	l.bytes = append(append(l.bytes, header[:]...), payload...)
	l.waiting = append(l.waiting, done)
}

func (l *rawLog) commit() {
	defer close(l.ended)
	var bytes []byte
	var waiting []func()
	for {
		l.mu.Lock()
		for len(l.waiting) == 0 && !l.closed {
			l.ready.Wait()
		}
		if len(l.waiting) == 0 {
			l.mu.Unlock()
			return
		}
		bytes, l.bytes = l.bytes, bytes[:0]
		waiting, l.waiting = l.waiting, waiting[:0]
		l.mu.Unlock()
		if _, err := l.file.Write(bytes); err != nil {
			panic(err)
		}
		if err := syscall.Fdatasync(int(l.file.Fd())); err != nil {
			panic(err)
		}
		if l.delay > 0 {
			<-time.After(l.delay)
		}
		for _, done := range waiting {
			done()
		}
	}
}

func (l *rawLog) close() {
	l.mu.Lock()
	l.closed = true
	l.ready.Signal()
	l.mu.Unlock()
	<-l.ended
	l.file.Close()
}
