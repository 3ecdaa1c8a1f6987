package managedledger

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Without a cache nothing is read ahead, because nothing could keep it.
func TestNothingIsReadAheadWithoutACache(t *testing.T) {
	h := newHouse(t)
	h.settings.Cache = uncached(t, h.settings.Executor)
	m := h.open("log")
	defer h.close(m)
	h.add(m, numbered(0, 100)...)
	before := h.ledgers.Calls(scripted.Read)
	equal(t, "read", texts(h.readAll(h.cursor(m, "c"), 10)), numbered(0, 100))
	if n := h.ledgers.Calls(scripted.Read) - before; n != 10 {
		t.Errorf("%d storage reads, want 10", n)
	}
}

// A lost ledger ends reads, unless the log may go on behind it; then it says
// what is gone, and all cursors leave it behind.
func TestLostLedger(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 3
	h.settings.Cache = uncached(t, h.settings.Executor)
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 8)...)
	c, other := h.cursor(m, "c"), h.cursor(m, "other")
	eventually(t, m, "three ledgers", func() bool { return len(m.Stats().Ledgers) == 3 && m.State() == StateOpen })
	if err := h.ledgers.Inner.Delete(h.ctx(), where[3].Ledger); err != nil {
		t.Fatal(err)
	}
	m.handles.drop(where[3].Ledger)
	if r, err := c.Read(h.ctx(), Max{Entries: 10}); err != nil || len(r.Entries) != 3 {
		t.Fatalf("read before the lost ledger: %v, %v", r.payloads(), err)
	}
	if _, err := c.Read(h.ctx(), Max{Entries: 10}); !errors.Is(err, sdk.ErrLedgerNotFound) {
		t.Fatalf("read of the lost ledger: %v", err)
	}
	config := h.config
	config.SkipLostLedgers = true
	if err := m.Configure(config); err != nil {
		t.Fatal(err)
	}
	r, err := c.Read(h.ctx(), Max{Entries: 10})
	if err != nil || !r.Gone || r.GoneUntil != where[6] {
		t.Fatalf("read on: gone %t until %s, %v", r.Gone, r.GoneUntil, err)
	}
	equal(t, "read on", r.payloads(), numbered(6, 2))
	if c.MarkDelete() != (sdk.Position{Ledger: where[0].Ledger, Entry: sdk.NoEntry}) || c.Backlog() != 5 {
		t.Errorf("mark-delete %s, backlog %d", c.MarkDelete(), c.Backlog())
	}
	if other.Backlog() != 5 {
		t.Errorf("backlog of the other cursor %d", other.Backlog())
	}
	equal(t, "the other cursor", texts(h.readAll(other, 10)), append(numbered(0, 3), numbered(6, 2)...))
}

// A storage read that is never answered ends with the time limit, each of them,
// and the next one may work.
func TestEveryReadHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.config.StoreTimeout = time.Minute
		h.settings.Cache = uncached(t, h.settings.Executor)
		m := h.open("log")
		h.add(m, "one")
		h.ledgers.Next(scripted.Read, scripted.Step{Lose: true}) // both share it
		began := time.Now()
		a, b := h.cursor(m, "a"), h.cursor(m, "b")
		ended := make(chan error, 2)
		for _, c := range []*Cursor{a, b} {
			err := c.ReadAsync(Max{Entries: 1}, ReadOptions{}, func(_ ReadResult, err error) { ended <- err })
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := <-ended; !errors.Is(err, sdk.ErrUnavailable) {
				t.Errorf("read: %v", err)
			}
		}
		if d := time.Since(began); d != time.Minute {
			t.Errorf("ended after %s", d)
		}
		equal(t, "read again", texts(h.readAll(a, 1)), []string{"one"})
		h.close(m)
	})
}

// A ledger that is never opened ends the reads that wait for it; the next one
// tries again.
func TestEveryOpenHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.config.StoreTimeout = 10 * time.Second
		h.close(h.open("log"))
		m := h.open("log")
		h.add(m, "one")
		h.close(m)
		m = h.open("log")
		h.ledgers.Next(scripted.Open, scripted.Step{Hold: scripted.NewGate()})
		c := h.cursor(m, "c")
		began := time.Now()
		if _, err := c.Read(h.ctx(), Max{Entries: 1}); !errors.Is(err, sdk.ErrUnavailable) {
			t.Errorf("read: %v", err)
		}
		if d := time.Since(began); d != h.config.StoreTimeout {
			t.Errorf("ended after %s", d)
		}
		equal(t, "read again", texts(h.readAll(c, 1)), []string{"one"})
		h.close(m)
	})
}

// Confirmed entries go into the cache while somebody reads, and for a while
// after.
func TestCachedWhileSomebodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		m := h.open("log")
		cached := func() bool {
			before := h.settings.Cache.Stats().Entries
			h.add(m, "x")
			return h.settings.Cache.Stats().Entries > before
		}
		if cached() {
			t.Error("cached although nobody has read")
		}
		c := h.cursor(m, "c")
		for range 5 {
			h.readAll(c, 10)
			if !cached() {
				t.Error("not cached although somebody reads")
			}
			time.Sleep(cachingTime)
		}
		time.Sleep(4 * cachingTime)
		cached() // takes note that nobody reads any more
		time.Sleep(4 * cachingTime)
		if cached() {
			t.Error("cached although nobody reads any more")
		}
		h.close(m)
	})
}
