package engine_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/memory"
)

// heap returns the bytes that are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// each16 calls f for 0 to n-1, 16 at a time.
func each16(n int, f func(i int)) {
	var working sync.WaitGroup // its goroutines end with their share
	for worker := range 16 {
		working.Go(func() {
			for i := worker; i < n; i += 16 {
				f(i)
			}
		})
	}
	working.Wait()
}

// Topics that are open and idle cost some KiB each, no goroutine, and next to no
// time: as they were recovered, and with an open ledger.
func TestTenThousandIdleTopics(t *testing.T) {
	const topics = 10_000
	s := memory.Open()
	e := start(t, s, func(c *engine.Config) { c.Cache.MaxBytes = 0 })
	each16(topics, func(i int) { create(t, e, fmt.Sprint("t", i), nil) })
	e.stop(t)

	before, goroutines := heap(), runtime.NumGoroutine()
	e = start(t, s, func(c *engine.Config) { c.Cache.MaxBytes = 0 })
	measure := func(what string, limit int64) {
		each, more := (heap()-before)/topics, runtime.NumGoroutine()-goroutines
		t.Logf("%s: %d bytes a topic, %d goroutines in all", what, each, more)
		if each > limit {
			t.Errorf("%s: an idle topic costs %d bytes", what, each)
		}
		if more > 200 {
			t.Errorf("%s: %d topics cost %d goroutines", what, topics, more)
		}
	}
	each16(topics, func(i int) { open(t, e, fmt.Sprint("t", i)) })
	measure("recovered", 8<<10)
	each16(topics, func(i int) { appendTexts(t, open(t, e, fmt.Sprint("t", i)), "x") })
	measure("written to once", 16<<10)
	if open := e.Stats().Open; open != topics {
		t.Errorf("%d topics are open", open)
	}
}

// Followers that never read cost nothing that grows, while a writer goes on at
// full speed.
func TestThousandFollowersThatNeverRead(t *testing.T) {
	const followers, rounds, batch, size = 1000, 60, 100, 4096
	s := memory.Open()
	e := start(t, s, func(c *engine.Config) {
		c.Cache.MaxBytes = 8 << 20
		c.Topic.MaxEntriesPerLedger = 2000
		c.Topic.RetentionBytes, c.Topic.RetentionTime = 1<<20, 0
	})
	topic := create(t, e, "orders", nil)
	appendTexts(t, topic, "first")
	for i := range followers {
		c, err := topic.OpenCursor(t.Context(), fmt.Sprint("f", i), managedledger.CursorOptions{From: managedledger.Earliest()})
		if err != nil {
			t.Fatal(err)
		}
		// Half of them have read once and stand at the tail, with a read that
		// waits; its result is left where it is.
		if i%2 == 0 {
			if _, err := c.Read(t.Context(), managedledger.Max{Entries: 10, Bytes: 1 << 20}); err != nil {
				t.Fatal(err)
			}
			var delivered atomic.Int64
			err := c.ReadAsync(managedledger.Max{Entries: 10, Bytes: 1 << 20}, managedledger.ReadOptions{Wait: true},
				func(r managedledger.ReadResult, err error) { delivered.Add(int64(len(r.Entries))) })
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	payload := string(make([]byte, size))
	msgs := messages(make([]string, batch)...)
	for i := range msgs {
		msgs[i].Payload = []byte(payload)
	}
	write := func() {
		for range rounds {
			if _, err := topic.Append(t.Context(), msgs...); err != nil {
				t.Fatal(err)
			}
		}
	}
	write()
	before := heap()
	for range 10 {
		write()
	}
	grown := heap() - before
	written := int64(10 * rounds * batch * size)
	t.Logf("%d MiB written, heap grew by %d KiB", written>>20, grown>>10)
	if grown > 24<<20 {
		t.Errorf("the heap grew by %d MiB while %d MiB were written", grown>>20, written>>20)
	}
}
