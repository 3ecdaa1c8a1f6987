package managedledger

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
)

// S-006: entries that are with the store and not confirmed are not there, for
// ranges inside, across and beyond the LAC; and what was never stored is not
// there after a crash either.
func TestS006ReadsAroundTheLAC(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	at := h.add(m, numbered(0, 10)...)
	held := scripted.NewGate()
	defer held.Open()
	h.ledgers.Always(scripted.Append, &scripted.Step{Hold: held})
	for _, p := range numbered(10, 3) {
		if err := m.AddAsync([][]byte{[]byte(p)}, func(AddResult, error) {}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, m *ManagedLedger) {
		for _, c := range []struct {
			from  sdk.EntryID
			count int
			want  []string
		}{{0, 10, numbered(0, 10)}, {8, 5, numbered(8, 2)}, {10, 3, nil}, {20, 2, nil}} {
			from := sdk.Position{Ledger: at[0].Ledger, Entry: c.from}
			r, err := m.Read(h.ctx(), from, Max{Entries: c.count})
			if err != nil {
				t.Errorf("%s, from %s: %v", when, from, err)
			}
			equal(t, when+" from "+from.String(), r.payloads(), c.want)
		}
	}
	check("with three on their way", m)
	h.ledgers.Always(scripted.Append, nil)
	next := h.open("log") // the owner before is gone
	check("after the crash", next)
	held.Open()
	h.close(next)
	h.leave(m)
}

// S-008: a read whose ledger is trimmed while the store has it gives its
// entries or says what is gone.
func TestS008ReadInFlightDuringTrim(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 5
	h.settings.Cache = uncached(t, h.settings.Executor)
	m := h.open("log")
	at := h.add(m, numbered(0, 12)...)
	eventually(t, m, "two ledgers are closed", func() bool { return len(m.Stats().Ledgers) == 3 && m.State() == StateOpen })
	held := scripted.NewGate()
	h.ledgers.Next(scripted.Read, scripted.Step{HoldReply: held})
	reading := later(func() ReadResult {
		r, err := m.Read(h.ctx(), at[1], Max{Entries: 3})
		if err != nil {
			t.Errorf("read during trim: %v", err)
		}
		return r
	})
	got(t, "the read is with the store", held.Reached())
	config := h.config
	config.RetentionBytes, config.RetentionTime = 0, 0
	if err := m.Configure(config); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Trim(h.ctx()); err != nil {
		t.Fatal(err)
	}
	held.Open()
	r := got(t, "the read", reading)
	if r.Gone {
		if len(r.Entries) == 0 || r.Entries[0].Position.Before(r.GoneUntil) {
			t.Errorf("gone until %s, and then %v", r.GoneUntil, r.payloads())
		}
	} else {
		equal(t, "read", r.payloads(), numbered(1, 3))
	}
	h.close(m)
}

// S-009: the last entry needs no other one to be seen.
func TestS009LastEntryIsVisible(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	c := h.cursor(m, "c")
	tail := later(func() []string {
		var all []string
		for len(all) < 5 {
			r, err := c.ReadOrWait(h.ctx(), Max{Entries: 2})
			if err != nil {
				t.Errorf("tail: %v", err)
				break
			}
			all = append(all, r.payloads()...)
		}
		return all
	})
	h.add(m, numbered(0, 5)...)
	equal(t, "tail", got(t, "the last of five entries", tail), numbered(0, 5))
	h.close(m)
}

// S-010: however often a reader comes and goes, it is registered once at most,
// and an entry is delivered once.
func TestS010WaitsOnce(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	c := h.cursor(m, "c")
	delivered := make(chan []string, 10)
	deliver := func(r ReadResult, err error) {
		if err != nil {
			t.Errorf("read: %v", err)
		}
		delivered <- r.payloads()
	}
	for range 5000 {
		if err := c.ReadAsync(Max{Entries: 1}, ReadOptions{Wait: true}, deliver); err != nil {
			t.Fatal(err)
		}
		if n := m.waiters.waiting(); n > 1 {
			t.Fatalf("%d wait", n)
		}
		if !c.CancelWait() {
			t.Fatal("the read does not wait")
		}
		if n := m.waiters.waiting(); n != 0 {
			t.Fatalf("%d wait after the reader has gone", n)
		}
	}
	if err := c.ReadAsync(Max{Entries: 1}, ReadOptions{Wait: true}, deliver); err != nil {
		t.Fatal(err)
	}
	h.add(m, "one")
	equal(t, "delivered", got(t, "the entry", delivered), []string{"one"})
	h.close(m)
	if n := len(delivered); n != 0 {
		t.Errorf("delivered %d times more", n)
	}
}

// S-014: the first entry after a seek is the one asked for, also with entries
// read ahead.
func TestS014FirstReadAfterSeek(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 30
	m := h.open("log")
	at := h.add(m, numbered(0, 100)...)
	c := h.cursor(m, "c")
	for range 1000 {
		if _, err := c.Read(h.ctx(), Max{Entries: 7}); err != nil {
			t.Fatal(err)
		}
		i := rand.IntN(len(at))
		if err := c.Seek(h.ctx(), At(at[i])); err != nil {
			t.Fatal(err)
		}
		r, err := c.Read(h.ctx(), Max{Entries: 3})
		if err != nil || len(r.Entries) == 0 || r.Entries[0].Position != at[i] {
			t.Fatalf("after a seek to %s: %v, %v", at[i], r.Entries, err)
		}
	}
	h.close(m)
}

// S-029 and S-030: a reader that trimming overtakes goes on at the first entry
// that is kept, says so, and skips none that is kept; what is kept can be read
// all the time.
func TestS029S030ReaderBehindTheTrimPoint(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 10
	m := h.open("log")
	at := h.add(m, numbered(0, 100)...)
	behind, err := m.OpenCursor(h.ctx(), "behind", CursorOptions{From: At(at[10])})
	if err != nil {
		t.Fatal(err)
	}
	keeper := h.cursor(m, "keeper") // durable: holds what is behind its mark
	config := h.config
	config.RetentionBytes, config.RetentionTime = 0, 0
	if err := m.Configure(config); err != nil {
		t.Fatal(err)
	}
	for _, upTo := range []int{30, 50} {
		if err := keeper.AcknowledgeUpTo(h.ctx(), at[upTo-1]); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Trim(h.ctx()); err != nil {
			t.Fatal(err)
		}
		r, err := m.Read(h.ctx(), at[50], Max{Entries: 1})
		if err != nil || r.Gone || len(r.Entries) != 1 || r.Entries[0].Position != at[50] {
			t.Errorf("trimmed to %d, entry 50: %+v, %v", upTo, r, err)
		}
		if r, err = m.Read(h.ctx(), at[40], Max{Entries: 1}); err != nil || len(r.Entries) != 1 {
			t.Errorf("trimmed to %d, entry 40: %+v, %v", upTo, r, err)
		} else if r.Gone == (r.Entries[0].Position == at[40]) {
			t.Errorf("trimmed to %d, entry 40 gives %s, gone %t", upTo, r.Entries[0].Position, r.Gone)
		}
	}
	r, err := behind.Read(h.ctx(), Max{Entries: 100})
	if err != nil || !r.Gone || r.GoneUntil != at[50] {
		t.Fatalf("behind: gone %t until %s, %v", r.Gone, r.GoneUntil, err)
	}
	equal(t, "behind", append(r.payloads(), texts(h.readAll(behind, 100))...), numbered(50, 50))
	h.close(m)
}

// S-072: closing does not wait for a read that waits.
func TestS072CloseEndsWaitingReads(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	c := h.cursor(m, "c")
	waiting := later(func() error {
		_, err := c.ReadOrWait(h.ctx(), Max{Entries: 1})
		return err
	})
	follower := later(func() error {
		_, err := m.ReadOrWait(h.ctx(), sdk.Position{}, Max{Entries: 1})
		return err
	})
	eventually(t, m, "both wait", func() bool { return m.waiters.waiting() == 2 })
	if err := c.Close(h.ctx()); err != nil {
		t.Fatal(err)
	}
	if err := got(t, "read of the closed cursor", waiting); !errors.Is(err, sdk.ErrClosed) {
		t.Errorf("read of the closed cursor: %v", err)
	}
	h.close(m)
	if err := got(t, "read of the closed log", follower); !errors.Is(err, sdk.ErrClosed) {
		t.Errorf("read of the closed log: %v", err)
	}
}
