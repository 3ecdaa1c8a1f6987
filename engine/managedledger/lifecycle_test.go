package managedledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
)

func TestOpenOptions(t *testing.T) {
	h := newHouse(t)
	if _, err := Open(h.ctx(), "log", h.settings, h.config, OpenOptions{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("open what is not there: %v", err)
	}
	m, err := Open(h.ctx(), "log", h.settings, h.config, OpenOptions{MustCreate: true, Properties: map[string]string{"k": "v"}})
	if err != nil {
		t.Fatal(err)
	}
	h.close(m)
	if _, err := Open(h.ctx(), "log", h.settings, h.config, OpenOptions{MustCreate: true}); !errors.Is(err, ErrExists) {
		t.Errorf("must create what is there: %v", err)
	}
	m, err = Open(h.ctx(), "log", h.settings, h.config, OpenOptions{Create: true, Properties: map[string]string{"k": "other"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Properties()["k"]; got != "v" {
		t.Errorf("property %q, want the stored one", got)
	}
	h.close(m)
	bad := h.config
	bad.MaxPendingEntries, bad.ReadPolicy = 0, nil
	if _, err := Open(h.ctx(), "log", h.settings, bad, OpenOptions{}); !errors.Is(err, sdk.ErrInvalid) {
		t.Errorf("invalid choices: %v", err)
	}
}

// The number of ledgers in the store, whatever the record says.
func (h *house) stored() []sdk.LedgerID {
	h.t.Helper()
	ids, err := h.ledgers.Inner.List(h.ctx(), -1, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	return ids
}

func TestIdleLogCostsTheStoreNothing(t *testing.T) {
	h := newHouse(t)
	for range 3 {
		h.close(h.open("log"))
	}
	if ids := h.stored(); len(ids) != 0 {
		t.Errorf("ledgers %v for a log without entries", ids)
	}
}

// Edge case 25: the last ledger is empty; the LAC is in the one before.
func TestRecoveredLACIsThatOfTheLastEntry(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 3
	m := h.open("log")
	at := h.add(m, "0", "1", "2")
	eventually(t, m, "empty ledger open", func() bool {
		v := m.current()
		id, open := v.openLedger()
		return open && id != at[0].Ledger
	})
	// No Close: a crash.
	m2 := h.open("log")
	if m2.LastConfirmed() != at[2] {
		t.Errorf("LAC %s, want %s", m2.LastConfirmed(), at[2])
	}
	v := m2.current()
	if !v.readable(at[0]) || v.count(v.lac) != 3 || len(v.ledgers) != 1 {
		t.Errorf("view %+v", v)
	}
	eventually(t, m2, "empty ledger deleted", func() bool { return len(h.stored()) == 1 })
	h.add(m2, "3")
	if got := h.entries(m2); !slices.Equal(got, []string{"0", "1", "2", "3"}) {
		t.Errorf("stored %q", got)
	}
	h.close(m2)
	h.leave(m)
}

// A log is opened again and again, by Close or by crash: nothing is lost, and
// nobody adds to a recovered ledger.
func TestReopen(t *testing.T) {
	h := newHouse(t)
	var want []string
	var former []*ManagedLedger
	var last sdk.Position
	for i := range 10 {
		m := h.open("log")
		if i > 0 && m.LastConfirmed() != last {
			t.Errorf("opening %d: LAC %s, want %s", i, m.LastConfirmed(), last)
		}
		if got := h.entries(m); !slices.Equal(got, want) {
			t.Fatalf("opening %d: stored %q, want %q", i, got, want)
		}
		more := numbered(2*i, 2)
		at := h.add(m, more...)
		if i > 0 && at[0].Ledger == last.Ledger {
			t.Errorf("opening %d goes on in ledger %d", i, last.Ledger)
		}
		want, last = append(want, more...), at[1]
		if i%2 == 0 {
			h.close(m)
		} else {
			former = append(former, m)
		}
	}
	for _, m := range former {
		h.leave(m)
	}
}

func TestConcurrentOpeningsLeaveOneOwner(t *testing.T) {
	h := newHouse(t)
	first := h.open("log")
	h.add(first, "0")
	var mu sync.Mutex
	var all []*ManagedLedger
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			m, err := Open(h.ctx(), "log", h.settings, h.config, OpenOptions{})
			if err != nil {
				if !errors.Is(err, sdk.ErrVersionConflict) {
					t.Errorf("open: %v", err)
				}
				return
			}
			mu.Lock()
			all = append(all, m)
			mu.Unlock()
		})
	}
	wg.Wait()
	owners := 0
	for _, m := range append(all, first) {
		if _, err := m.Add(h.ctx(), []byte("mine")); err == nil {
			owners++
		} else if !errors.Is(err, ErrFenced) {
			t.Errorf("add: %v", err)
		}
		h.close(m)
	}
	if owners != 1 {
		t.Errorf("%d owners", owners)
	}
}

func TestRollBySizeAndNumber(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger, h.config.MaxBytesPerLedger = 4, 30
	m := h.open("log")
	defer h.close(m)
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprint(i))
		h.add(m, want[len(want)-1])
	}
	for range 3 {
		want = append(want, "twenty bytes or more ..")
		h.add(m, want[len(want)-1])
	}
	var counts []int64
	v := m.current()
	for i := range v.ledgers {
		counts = append(counts, v.entries(i))
	}
	if !slices.Equal(counts[:3], []int64{4, 4, 4}) {
		t.Errorf("entries per ledger %v", counts)
	}
	if got := h.entries(m); !slices.Equal(got, want) {
		t.Errorf("stored %q", got)
	}
}

func TestRollByAge(t *testing.T) {
	h := newHouse(t)
	h.config.MaxLedgerAge, h.config.MinLedgerAge = time.Hour, 10*time.Minute
	m := h.open("log")
	defer h.close(m)
	m.Maintain(time.Now().Add(2 * time.Hour)) // nothing to roll
	at := h.add(m, "0")
	m.Maintain(time.Now().Add(30 * time.Minute)) // too young
	h.add(m, "1")
	if got := m.LastConfirmed().Ledger; got != at[0].Ledger {
		t.Errorf("rolled after half an hour")
	}
	m.Maintain(time.Now().Add(2 * time.Hour))
	eventually(t, m, "rolled without traffic", func() bool { _, open := m.current().openLedger(); return !open })
	m.Maintain(time.Now().Add(9 * time.Hour))
	if n := h.ledgers.Calls(scripted.Create); n != 1 {
		t.Errorf("%d ledgers made for a log without traffic", n)
	}
	if after := h.add(m, "2"); after[0].Ledger == at[0].Ledger {
		t.Errorf("entry in the old ledger")
	}
}

func TestMinLedgerAge(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger, h.config.MinLedgerAge = 2, time.Hour
	m := h.open("log")
	defer h.close(m)
	at := h.add(m, numbered(0, 6)...)
	if at[0].Ledger != at[5].Ledger {
		t.Errorf("rolled within its least age: %v", at)
	}
}

func TestRollAsked(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	if err := m.Roll(h.ctx()); err != nil {
		t.Errorf("roll of an empty log: %v", err)
	}
	at := h.add(m, "0")
	for range 2 {
		if err := m.Roll(h.ctx()); err != nil {
			t.Errorf("roll: %v", err)
		}
	}
	after := h.add(m, "1")
	if after[0].Ledger == at[0].Ledger || len(m.current().ledgers) != 2 {
		t.Errorf("not rolled: %v, %v", at, after)
	}
}

func TestTerminate(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	at := h.add(m, "0", "1")
	for range 2 {
		if p, err := m.Terminate(h.ctx()); err != nil || p != at[1] {
			t.Errorf("terminate: %s, %v", p, err)
		}
	}
	if _, err := m.Add(h.ctx(), []byte("2")); !errors.Is(err, ErrTerminated) {
		t.Errorf("add to a terminated log: %v", err)
	}
	h.close(m)
	m = h.open("log")
	defer h.close(m)
	if _, err := m.Add(h.ctx(), []byte("2")); !errors.Is(err, ErrTerminated) || m.State() != StateTerminated {
		t.Errorf("add to a terminated log after another opening: %v, %s", err, m.State())
	}
	if p, err := m.Terminate(h.ctx()); err != nil || p != at[1] {
		t.Errorf("terminate again: %s, %v", p, err)
	}
	if got := h.entries(m); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("stored %q", got)
	}
}

// P#26680, P#26678: terminated wins over a ledger that was being made.
func TestTerminateDuringRoll(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 2
	m := h.open("log")
	defer h.close(m)
	h.add(m, "0")
	gate := scripted.NewGate()
	h.ledgers.Next(scripted.Create, scripted.Step{HoldReply: gate})
	at := h.add(m, "1") // full
	got(t, "create", gate.Reached())
	terminated := later(func() error { _, err := m.Terminate(h.ctx()); return err })
	gate.Open()
	if err := got(t, "terminate", terminated); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Add(h.ctx(), []byte("2")); !errors.Is(err, ErrTerminated) {
		t.Errorf("add: %v", err)
	}
	if m.State() != StateTerminated || m.LastConfirmed() != at[0] {
		t.Errorf("state %s, LAC %s", m.State(), m.LastConfirmed())
	}
	eventually(t, m, "unused ledger deleted", func() bool { return len(h.stored()) == 1 })
}

func TestTerminateThatFailsLeavesTheLogOpen(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.add(m, "0")
	h.metadata.Next(scripted.Put, scripted.Step{Before: sdk.ErrFull})
	if _, err := m.Terminate(h.ctx()); !errors.Is(err, sdk.ErrFull) {
		t.Errorf("terminate: %v", err)
	}
	h.add(m, "1")
	if got := h.entries(m); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("stored %q", got)
	}
}

func TestS073AddsQueuedDuringARollAreAnsweredByClose(t *testing.T) {
	for name, put := range map[string]scripted.Step{
		"the metadata write works": {},
		"the metadata write fails": {Before: errDown},
		"and its outcome is open":  {After: errors.New("connection lost")},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.config.MaxEntriesPerLedger = 1
			m := h.open("log")
			gate := scripted.NewGate()
			h.ledgers.Next(scripted.Create, scripted.Step{}, scripted.Step{HoldReply: gate})
			h.add(m, "0")
			got(t, "create", gate.Reached())
			var adds []<-chan ended
			for i := range 10 {
				adds = append(adds, h.addLater(m, fmt.Sprint(i)))
			}
			h.metadata.Next(scripted.Put, put)
			closed := later(func() error { return m.Close(h.ctx()) })
			for i, c := range adds {
				if e := got(t, "add", c); !errors.Is(e.err, ErrClosed) || errors.Is(e.err, sdk.ErrUnknownOutcome) {
					t.Errorf("add %d: %v", i, e.err)
				}
			}
			gate.Open()
			if err := got(t, "close", closed); err != nil && put.Before == nil && put.After == nil {
				t.Errorf("close: %v", err)
			}
			m = h.open("log")
			defer h.close(m)
			if got := h.entries(m); !slices.Equal(got, []string{"0"}) {
				t.Errorf("stored %q", got)
			}
			eventually(t, m, "no ledger left behind", func() bool { return len(h.stored()) == 1 })
		})
	}
}

func TestS074SecondCloseWaitsForTheFirst(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	h.add(m, numbered(0, 11)...)
	gate := scripted.NewGate()
	h.metadata.Next(scripted.Put, scripted.Step{Hold: gate})
	first := later(func() error { return m.Close(h.ctx()) })
	got(t, "first close at the record", gate.Reached())
	second := later(func() error { return m.Close(h.ctx()) })
	// Meanwhile another owner takes the log and writes to it.
	other := h.open("log")
	h.add(other, "10 more")
	select {
	case err := <-second:
		t.Fatalf("second close returned before the first: %v", err)
	default:
	}
	gate.Open()
	a, b := got(t, "first", first), got(t, "second", second)
	if !errors.Is(a, ErrFenced) || !errors.Is(b, ErrFenced) {
		t.Errorf("closes say %v and %v", a, b)
	}
	if got := h.entries(other); len(got) != 12 {
		t.Errorf("%d entries", len(got))
	}
	h.close(other)
}

func TestCloseIsBounded(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	h.add(m, "0")
	gate := scripted.NewGate()
	h.ledgers.Next(scripted.Append, scripted.Step{HoldReply: gate})
	h.ledgers.Always(scripted.Seal, &scripted.Step{Hold: gate})
	add := h.addLater(m, "1")
	got(t, "add at the store", gate.Reached())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	if e := got(t, "add", add); !errors.Is(e.err, ErrClosed) || !errors.Is(e.err, sdk.ErrUnknownOutcome) {
		t.Errorf("add: %v", e.err)
	}
	gate.Open()
	h.ledgers.Always(scripted.Seal, nil)
	m = h.open("log")
	defer h.close(m)
	if got := h.entries(m); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("stored %q", got)
	}
}

func TestS075EverythingAfterClose(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	at := h.add(m, "0")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if _, err := m.Add(h.ctx(), []byte("x")); err != nil {
					if !errors.Is(err, sdk.ErrClosed) {
						t.Errorf("add during close: %v", err)
					}
					return
				}
			}
		})
	}
	h.close(m)
	wg.Wait()
	for name, call := range map[string]func() error{
		"Add":           func() error { _, err := m.Add(h.ctx(), []byte("x")); return err },
		"AddAsync":      func() error { return m.AddAsync([][]byte{{}}, func(AddResult, error) {}) },
		"Roll":          func() error { return m.Roll(h.ctx()) },
		"Trim":          func() error { _, err := m.Trim(h.ctx()); return err },
		"Truncate":      func() error { return m.Truncate(h.ctx()) },
		"Terminate":     func() error { _, err := m.Terminate(h.ctx()); return err },
		"SetProperties": func() error { return m.SetProperties(h.ctx(), nil) },
	} {
		if err := call(); !errors.Is(err, sdk.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	m.Maintain(time.Now())
	if err := m.Configure(h.config); err != nil {
		t.Errorf("Configure: %v", err)
	}
	if m.State() != StateClosed || m.LastConfirmed().Before(at[0]) || m.Stats().State != StateClosed {
		t.Errorf("state %s, LAC %s", m.State(), m.LastConfirmed())
	}
	h.close(m)
}

func TestDelete(t *testing.T) {
	h := newHouse(t)
	if err := Delete(h.ctx(), "log", h.settings); !errors.Is(err, ErrNotFound) {
		t.Errorf("delete what is not there: %v", err)
	}
	other := h.open("log/with a/slash")
	h.add(other, "stays")
	m := h.open("log")
	h.add(m, "0")
	if err := m.Roll(h.ctx()); err != nil {
		t.Fatal(err)
	}
	h.add(m, "1")
	names, err := Names(h.ctx(), h.metadata, "", 10)
	if err != nil || !slices.Equal(names, []string{"log", "log/with a/slash"}) {
		t.Errorf("names %q, %v", names, err)
	}
	if err := Delete(h.ctx(), "log", h.settings); err != nil {
		t.Fatal(err)
	}
	// The owner learns of it, whether it writes to the store or to the record.
	if _, err := m.Add(h.ctx(), []byte("2")); !errors.Is(err, ErrFenced) && !errors.Is(err, ErrDeleting) {
		t.Errorf("add to a deleted log: %v", err)
	}
	h.close(m)
	if _, err := Open(h.ctx(), "log", h.settings, h.config, OpenOptions{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("open a deleted log: %v", err)
	}
	if ids := h.stored(); len(ids) != 1 {
		t.Errorf("ledgers left: %v", ids)
	}
	h.close(other)
}

func TestDeleteThatFailsIsGoneOnWith(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	h.add(m, "0")
	h.close(m)
	h.ledgers.Next(scripted.Delete, scripted.Step{Before: errDown})
	if err := Delete(h.ctx(), "log", h.settings); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("delete: %v", err)
	}
	h.ledgers.Next(scripted.Delete, scripted.Step{Before: errDown})
	if _, err := Open(h.ctx(), "log", h.settings, h.config, OpenOptions{}); err == nil {
		t.Error("opened a log that is being deleted")
	}
	m = h.open("log") // ends the deletion and begins anew
	defer h.close(m)
	if got := h.entries(m); len(got) != 0 || len(h.stored()) != 0 {
		t.Errorf("stored %q in %v", got, h.stored())
	}
}
