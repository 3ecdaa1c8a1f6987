package managedledger

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

func TestS003LedgerDeletedUnderItsWriter(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	at := h.add(m, "0")
	if err := h.ledgers.Inner.Delete(h.ctx(), at[0].Ledger); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Add(h.ctx(), []byte("1")); !errors.Is(err, ErrFenced) {
		t.Errorf("add to a ledger that is gone: %v", err)
	}
	if m.State() != StateFenced {
		t.Errorf("state %s", m.State())
	}
}

// Whoever hears that the log is lost sees it in its state.
func TestStateIsFencedWhenAddsHear(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	at := h.add(m, "0")
	if err := h.ledgers.Inner.Delete(h.ctx(), at[0].Ledger); err != nil {
		t.Fatal(err)
	}
	states := make(chan State, 1)
	if err := m.AddAsync([][]byte{[]byte("1")}, func(AddResult, error) { states <- m.State() }); err != nil {
		t.Fatal(err)
	}
	if state := got(t, "add", states); state != StateFenced {
		t.Errorf("the add hears of it while the state is %s", state)
	}
}

func TestS038FormerOwnerStops(t *testing.T) {
	h := newHouse(t)
	a := h.open("log")
	h.add(a, "0", "1")
	b := h.open("log")
	h.add(b, "2")
	before, err := h.metadata.Inner.Get(h.ctx(), recordKey("log"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Add(h.ctx(), []byte("stray")); !errors.Is(err, ErrFenced) || !errors.Is(err, sdk.ErrFenced) {
		t.Errorf("add by the former owner: %v", err)
	}
	if err := a.SetProperties(h.ctx(), map[string]string{"a": "b"}); !errors.Is(err, ErrFenced) {
		t.Errorf("properties by the former owner: %v", err)
	}
	if _, err := a.Trim(h.ctx()); !errors.Is(err, ErrFenced) {
		t.Errorf("trim by the former owner: %v", err)
	}
	a.Maintain(time.Now().Add(24 * time.Hour))
	h.close(a)
	after, err := h.metadata.Inner.Get(h.ctx(), recordKey("log"))
	if err != nil || after.Version != before.Version {
		t.Errorf("the former owner wrote the record: version %d, was %d, %v", after.Version, before.Version, err)
	}
	h.add(b, "3")
	if got := h.entries(b); !slices.Equal(got, []string{"0", "1", "2", "3"}) {
		t.Errorf("stored %q", got)
	}
	h.close(b)
}

// The former owner has no ledger open: it meets the new one at the record.
func TestS038FormerOwnerMeetsTheRecord(t *testing.T) {
	h := newHouse(t)
	a := h.open("log")
	b := h.open("log")
	defer h.close(b)
	if _, err := a.Add(h.ctx(), []byte("stray")); !errors.Is(err, ErrFenced) {
		t.Errorf("add by the former owner: %v", err)
	}
	h.close(a)
	if ids, err := h.ledgers.Inner.List(h.ctx(), -1, 100); err != nil || len(ids) != 0 {
		t.Errorf("the former owner left ledgers %v, %v", ids, err)
	}
}

// S-031: whatever was acknowledged to the former owner is there for the next
// one.
func TestS031TakenOverWhileAdding(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 50
	for round := range 20 {
		name := fmt.Sprint("log ", round)
		a := h.open(name)
		const producers = 4
		acked := make([][]string, producers)
		started := make(chan struct{}, producers)
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() {
				for i := 0; ; i++ {
					text := fmt.Sprint(p, "-", i)
					_, err := a.Add(h.ctx(), []byte(text))
					if err != nil {
						if !errors.Is(err, ErrFenced) {
							t.Errorf("add: %v", err)
						}
						return
					}
					acked[p] = append(acked[p], text)
					if i == 10*round {
						started <- struct{}{}
					}
				}
			})
		}
		got(t, "first adds", started)
		b := h.open(name)
		h.add(b, "from the new owner")
		wg.Wait()
		log := map[string]bool{}
		for _, e := range h.entries(b) {
			if log[e] {
				t.Errorf("%s is stored twice", e)
			}
			log[e] = true
		}
		for _, texts := range acked {
			for _, text := range texts {
				if !log[text] {
					t.Errorf("%s was acknowledged and is lost", text)
				}
			}
		}
		h.leave(a)
		h.close(b)
	}
}
