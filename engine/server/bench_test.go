package server_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// BenchmarkProduce is durable messages of 128 bytes over gRPC, client and
// server in one process: producers that each wait for the message before, 500
// that have 16 outstanding each, and the unary call; on memory and on pebble.
func BenchmarkProduce(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(testing.TB, ...func(*house)) *house
	}{{"memory", open}, {"pebble", openPebble}} {
		for _, load := range []struct{ producers, outstanding int }{{1, 1}, {16, 1}, {500, 1}, {500, 16}} {
			for _, anonymous := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%dx%d/anonymous=%v", store.name, load.producers, load.outstanding, anonymous), func(b *testing.B) {
					benchmarkProduce(b, store.open(b), load.producers, load.outstanding, anonymous)
				})
			}
		}
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/unary/%d", store.name, callers), func(b *testing.B) { benchmarkUnary(b, store.open(b), callers) })
		}
	}
}

func benchmarkProduce(b *testing.B, h *house, producers, outstanding int, anonymous bool) {
	c := h.dial("bench")
	all := make([]*client.Producer, producers)
	for i := range all {
		all[i] = h.producer(c, "bench", client.ProducerOptions{Anonymous: anonymous})
	}
	payload := make([]byte, 128)
	var left atomic.Int64
	left.Store(int64(b.N))
	var running sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for _, p := range all {
		for range outstanding {
			running.Go(func() {
				for left.Add(-1) >= 0 {
					if _, err := p.Send(context.Background(), message.Message{Payload: payload}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
	}
	running.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

func benchmarkUnary(b *testing.B, h *house, callers int) {
	c := h.dial("bench")
	payload := make([]byte, 128)
	var left atomic.Int64
	left.Store(int64(b.N))
	var running sync.WaitGroup
	b.ResetTimer()
	for range callers {
		running.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := c.Append(context.Background(), "bench", message.Message{Payload: payload}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// BenchmarkRead is reading a topic to its tail, entries of 128 bytes.
func BenchmarkRead(b *testing.B) {
	h := open(b)
	c := h.dial("bench")
	p := h.producer(c, "bench", client.ProducerOptions{})
	const n = 100_000
	h.sendAll(p, 0, n)
	b.ResetTimer()
	read := 0
	began := time.Now()
	for b.Loop() {
		for batch, err := range c.Reader("bench", client.ReadOptions{}).Batches(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			read += len(batch.Entries)
		}
	}
	b.ReportMetric(float64(read)/time.Since(began).Seconds(), "entries/s")
}
