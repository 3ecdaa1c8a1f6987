package managedledger

import (
	"errors"
	"slices"
	"sync"
	"testing"

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
