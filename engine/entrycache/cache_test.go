package entrycache

import (
	"errors"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

func TestGet(t *testing.T) {
	c := newCache(t, nil)
	c.Add(1, 0, payloads(1, 0, 99))
	c.Add(1, 100, payloads(1, 100, 100))
	c.Add(1, 101, payloads(1, 101, 101))
	c.Add(1, 110, payloads(1, 110, 119))
	c.Add(2, 0, [][]byte{{}, {1}, nil})
	for _, g := range []struct {
		name        string
		ledger      sdk.LedgerID
		first, last sdk.EntryID
		maxBytes    int
		want        int
	}{
		{"inside a run", 1, 10, 19, 0, 10},
		{"one entry", 1, 99, 99, 0, 1},
		{"over runs", 1, 95, 105, 0, 7},
		{"to the end", 1, 110, 500, 0, 10},
		{"in a gap", 1, 102, 500, 0, 0},
		{"behind all", 1, 120, 500, 0, 0},
		{"no such ledger", 3, 0, 500, 0, 0},
		{"backwards", 1, 5, 4, 0, 0},
		{"cut to one", 1, 10, 19, 1, 1},
		{"cut at the limit", 1, 14, 19, 5 + 4 + 5, 2},
		{"cut over runs", 1, 98, 101, len(payload(1, 98)) + len(payload(1, 99)) + len(payload(1, 100)), 3},
		{"all within the limit", 1, 0, 101, math.MaxInt, 102},
	} {
		t.Run(g.name, func(t *testing.T) {
			got := c.Get(g.ledger, g.first, g.last, g.maxBytes)
			if len(got) != g.want {
				t.Fatalf("got %d entries, want %d", len(got), g.want)
			}
			if w := wrong(got, g.ledger, g.first); w != "" {
				t.Fatal(w)
			}
		})
	}
	if got := c.Get(2, 0, 9, 1); len(got) != 3 {
		t.Fatalf("got %d of three small entries", len(got))
	}
}

func TestHandedOutSliceDoesNotGrow(t *testing.T) {
	c := newCache(t, nil)
	c.Add(1, 0, payloads(1, 0, 0))
	c.Add(1, 1, payloads(1, 1, 1))
	before := c.Get(1, 0, 0, 0)
	_ = append(before, []byte("mine"))
	c.Add(1, 2, payloads(1, 2, 2))
	_ = append(c.Get(1, 0, 1, 0), []byte("mine"))
	if w := wrong(c.Get(1, 0, 2, 0), 1, 0); w != "" {
		t.Fatal(w)
	}
}

func TestAddKeepsTheCallersSliceOut(t *testing.T) {
	c := newCache(t, nil)
	mine := payloads(1, 0, 99)
	c.Add(1, 0, mine)
	clear(mine)
	if w := wrong(c.Get(1, 0, 99, 0), 1, 0); w != "" {
		t.Fatal(w)
	}
}

func TestConfigure(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Watermark = 0 },
		func(c *Config) { c.Watermark = math.NaN() },
		func(c *Config) { c.Watermark = 1.1 },
		func(c *Config) { c.MaxBytes = -1 },
		func(c *Config) { c.TTL = -1 },
		func(c *Config) { c.MaxReadBytes = -1 },
		func(c *Config) { c.MaxWaitingReads = -1 },
	} {
		config := DefaultConfig()
		change(&config)
		if _, err := New(config, goroutines{}); !errors.Is(err, sdk.ErrInvalid) {
			t.Errorf("%+v: %v", config, err)
		}
	}
	if _, err := New(DefaultConfig(), nil); err == nil {
		t.Error("no executor was accepted")
	}

	c := newCache(t, nil)
	c.Add(1, 0, payloads(1, 0, 99))
	config := DefaultConfig()
	config.MaxBytes = 0
	if err := c.Configure(config); err != nil {
		t.Fatal(err)
	}
	c.Add(1, 100, payloads(1, 100, 199))
	if s := c.Stats(); s.Bytes != 0 || s.Entries != 0 || c.Get(1, 0, 0, 0) != nil {
		t.Fatalf("turned off, and holds %+v", s)
	}
}

func TestSizeEvictionTakesTheOldestOfAllLedgers(t *testing.T) {
	const size = 1000 + EntryOverhead
	c := newCache(t, func(c *Config) { c.MaxBytes, c.Watermark = 100*size, 0.8 })
	for i := range 100 {
		addLarge(c, i)
	}
	if s := c.Stats(); s.Entries != 100 || s.Evicted != 0 {
		t.Fatalf("full, and holds %+v", s)
	}
	for i := 100; i < 104; i++ {
		addLarge(c, i)
		if s := c.Stats(); s.Bytes > 100*size {
			t.Fatalf("holds %+v", s)
		}
	}
	s := c.Stats()
	if s.Entries >= 100 || s.Entries < 80 || s.Entries+s.Evicted != 104 {
		t.Fatalf("after eviction it holds %+v", s)
	}
	for i := range 104 {
		there := c.Get(sdk.LedgerID(i%7), sdk.EntryID(i*2), sdk.EntryID(i*2), 0) != nil
		if want := int64(i) >= s.Evicted; there != want {
			t.Fatalf("%d entries are evicted; entry %d is there: %v", s.Evicted, i, there)
		}
	}
	c.Evict(time.Now())
	if s := c.Stats(); s.Entries != 80 {
		t.Fatalf("the tick left %d entries", s.Entries)
	}
}

// addLarge adds one entry of 1,000 bytes that joins no other one.
func addLarge(c *Cache, i int) {
	c.Add(sdk.LedgerID(i%7), sdk.EntryID(i*2), [][]byte{make([]byte, 1000)})
}

func TestTooLargeIsNotKept(t *testing.T) {
	c := newCache(t, func(c *Config) { c.MaxBytes = 1000 })
	c.Add(1, 0, payloads(1, 0, 3))
	c.Add(1, 4, [][]byte{make([]byte, 1000)})
	if s := c.Stats(); s.Entries != 4 || s.Evicted != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestEmptyEntriesAreBounded(t *testing.T) {
	c := newCache(t, func(c *Config) { c.MaxBytes = 100 * EntryOverhead })
	for e := range sdk.EntryID(1000) {
		c.Add(1, 2*e, [][]byte{nil})
	}
	if s := c.Stats(); s.Entries > 100 {
		t.Fatalf("%+v", s)
	}
}

func TestTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, func(c *Config) { c.TTL = time.Second })
		for e := range sdk.EntryID(200) { // small batches share runs, not for long
			c.Add(1, e, payloads(1, e, e))
			time.Sleep(10 * time.Millisecond)
			c.Evict(time.Now())
			oldest := e
			for oldest > 0 && c.Get(1, oldest-1, oldest-1, 0) != nil {
				oldest--
			}
			if kept := e - oldest + 1; kept > 100 || e > 100 && kept < 92 {
				t.Fatalf("at entry %d, %d are kept; of one second there are 100", e, kept)
			}
		}
		time.Sleep(time.Second)
		c.Evict(time.Now())
		if s := c.Stats(); s.Entries != 0 || s.Bytes != 0 || s.Evicted != 200 {
			t.Fatalf("%+v", s)
		}
	})
}

func TestS007DuplicateInsertIsRefused(t *testing.T) {
	c := newCache(t, nil)
	c.Add(1, 10, payloads(1, 10, 19))
	once := c.Stats()
	for range 10_000 {
		c.Add(1, 10, payloads(1, 10, 19))
	}
	if s := c.Stats(); s.Bytes != once.Bytes || s.Entries != 10 || s.Refused != 100_000 {
		t.Fatalf("after duplicates it holds %+v", s)
	}
	c.Add(1, 5, payloads(1, 5, 24)) // around what is there
	if got := c.Get(1, 5, 24, 0); len(got) != 20 || wrong(got, 1, 5) != "" {
		t.Fatalf("got %d entries, %s", len(got), wrong(got, 1, 5))
	}
	if s := c.Stats(); s.Entries != 20 {
		t.Fatalf("it holds %+v", s)
	}
	c.DropLedger(1)
	if s := c.Stats(); s.Bytes != 0 || s.Entries != 0 {
		t.Fatalf("after the drop it holds %+v", s)
	}
}

func TestS007NothingStaysReferenced(t *testing.T) {
	c := newCache(t, nil)
	collected := make(chan struct{})
	func() {
		large := make([]byte, 1<<20)
		runtime.AddCleanup(&large[0], func(struct{}) { close(collected) }, struct{}{})
		c.Add(1, 0, [][]byte{large})
		c.Add(1, 0, [][]byte{large})
		c.Add(1, 1, payloads(1, 1, 70))
	}()
	config := *c.config.Load()
	config.MaxBytes = 1 << 19 // the oldest entry goes, the others have room
	if err := c.Configure(config); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(10 * time.Second)
	for {
		runtime.GC()
		select {
		case <-collected:
			if c.Get(1, 2, 2, 0) == nil {
				t.Fatal("the later entry is gone too")
			}
			return
		case <-deadline:
			t.Fatal("an evicted entry is still referenced")
		default:
		}
	}
}

func TestGetAllocates(t *testing.T) {
	c := newCache(t, nil)
	c.Add(1, 0, payloads(1, 0, 99))
	c.Add(1, 100, payloads(1, 100, 199))
	if n := testing.AllocsPerRun(100, func() { c.Get(1, 50, 50, 1000) }); n != 0 {
		t.Errorf("a read of one entry allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { c.Get(1, 50, 149, 0) }); n != 1 {
		t.Errorf("a read over two runs allocates %v times, want the result only", n)
	}
}
