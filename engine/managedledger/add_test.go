package managedledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
)

func TestAddOneByOne(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	if got := m.LastConfirmed(); got.Entry != sdk.NoEntry {
		t.Errorf("LAC of a new log is %s", got)
	}
	want := numbered(0, 10)
	at := h.add(m, want...)
	for i := 1; i < len(at); i++ {
		if at[i] != at[i-1].Next() {
			t.Errorf("entry %d is at %s, the one before at %s", i, at[i], at[i-1])
		}
	}
	if m.LastConfirmed() != at[9] {
		t.Errorf("LAC is %s, want %s", m.LastConfirmed(), at[9])
	}
	if got := h.entries(m); !slices.Equal(got, want) {
		t.Errorf("stored %q", got)
	}
}

func TestAddOfSeveralStandsTogether(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	var wg sync.WaitGroup
	const producers, adds, each = 20, 50, 3
	for p := range producers {
		wg.Go(func() {
			for a := range adds {
				name := fmt.Sprintf("%d/%d", p, a)
				r, err := m.Add(t.Context(), []byte(name), []byte(name), []byte(name))
				if err != nil {
					t.Errorf("add: %v", err)
					return
				}
				if s := r.Spans(); len(s) != 1 || s[0].Count != each {
					t.Errorf("spans %v", s)
				}
			}
		})
	}
	wg.Wait()
	got := h.entries(m)
	if len(got) != producers*adds*each {
		t.Fatalf("%d entries, want %d", len(got), producers*adds*each)
	}
	next := map[string]int{}
	for i := 0; i < len(got); i += each {
		if got[i] != got[i+1] || got[i] != got[i+2] {
			t.Fatalf("entries %d to %d are of different adds: %q", i, i+2, got[i:i+each])
		}
		var p string
		var a int
		fmt.Sscanf(got[i], "%1s", &p)
		p, a = got[i][:slices.Index([]byte(got[i]), '/')], 0
		fmt.Sscanf(got[i][len(p)+1:], "%d", &a)
		if a != next[p] {
			t.Fatalf("producer %s: add %d stands where %d should", p, a, next[p])
		}
		next[p]++
	}
}

func TestAddAsyncAnswersInOrder(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	const n = 2000
	var last sdk.Position
	ended := make(chan error, 1)
	for i := range n {
		err := m.AddAsync([][]byte{[]byte("x")}, func(r AddResult, err error) {
			switch {
			case err != nil:
				t.Errorf("add %d: %v", i, err)
			case i > 0 && !last.Before(r.First()):
				t.Errorf("add %d at %s answered after %s", i, r.First(), last)
			}
			last = r.First()
			if i == n-1 {
				ended <- nil
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got(t, "last add", ended)
}

func TestAddRefusesWhatCannotBe(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntryBytes = 10
	m := h.open("log")
	defer h.close(m)
	if _, err := m.Add(h.ctx()); !errors.Is(err, sdk.ErrInvalid) {
		t.Errorf("add of nothing: %v", err)
	}
	if _, err := m.Add(h.ctx(), []byte("fits"), []byte("does not fit")); !errors.Is(err, sdk.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Add(ctx, []byte("x")); !errors.Is(err, context.Canceled) || errors.Is(err, sdk.ErrUnknownOutcome) {
		t.Errorf("ctx ended before: %v", err)
	}
	if _, err := m.Add(h.ctx(), nil, []byte{}); err != nil {
		t.Errorf("empty entries are entries: %v", err)
	}
	if got := h.entries(m); !slices.Equal(got, []string{"", ""}) {
		t.Errorf("stored %q", got)
	}
}

func TestAddAtTheLimit(t *testing.T) {
	h := newHouse(t)
	h.config.MaxPendingEntries = 2
	m := h.open("log")
	defer h.close(m)
	gate := scripted.NewGate()
	h.ledgers.Next(scripted.Append, scripted.Step{HoldReply: gate})
	h.ledgers.Next(scripted.Append, scripted.Step{HoldReply: gate})

	first := later(func() error { _, err := m.Add(h.ctx(), []byte("1")); return err })
	got(t, "first add at the store", gate.Reached())
	second := later(func() error { _, err := m.Add(h.ctx(), []byte("2")); return err })
	eventually(t, m, "second add taken", func() bool { n, _ := m.intake.pending(); return n == 2 })

	if err := m.AddAsync([][]byte{{}}, func(AddResult, error) { t.Error("called") }); !errors.Is(err, sdk.ErrBusy) {
		t.Errorf("AddAsync at the limit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := later(func() error { _, err := m.Add(ctx, []byte("never")); return err })
	eventually(t, m, "third in line", func() bool { return inLine(m) == 1 })
	fourth := later(func() error { _, err := m.Add(h.ctx(), []byte("4"), []byte("5"), []byte("6")); return err })
	eventually(t, m, "fourth in line", func() bool { return inLine(m) == 2 })
	cancel()
	if err := got(t, "third", gaveUp); !errors.Is(err, context.Canceled) || errors.Is(err, sdk.ErrUnknownOutcome) {
		t.Errorf("gave up in line: %v", err)
	}
	gate.Open()
	for _, c := range []<-chan error{first, second, fourth} {
		if err := got(t, "add", c); err != nil {
			t.Errorf("add: %v", err)
		}
	}
	if got := h.entries(m); !slices.Equal(got, []string{"1", "2", "4", "5", "6"}) {
		t.Errorf("stored %q", got)
	}
	if n, b := m.intake.pending(); n != 0 || b != 0 {
		t.Errorf("pending at rest: %d entries, %d bytes", n, b)
	}
}

func inLine(m *ManagedLedger) int {
	m.intake.mu.Lock()
	defer m.intake.mu.Unlock()
	return len(m.intake.line)
}

func TestAddWhoseContextEndsLater(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	gate := scripted.NewGate()
	h.ledgers.Next(scripted.Append, scripted.Step{HoldReply: gate})
	ctx, cancel := context.WithCancel(t.Context())
	add := later(func() error { _, err := m.Add(ctx, []byte("1")); return err })
	got(t, "add at the store", gate.Reached())
	cancel()
	if err := got(t, "add", add); !errors.Is(err, context.Canceled) || !errors.Is(err, sdk.ErrUnknownOutcome) {
		t.Errorf("add: %v", err)
	}
	gate.Open()
	h.add(m, "2")
	if got := h.entries(m); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("stored %q", got)
	}
}

func TestCallbackThatPanics(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	ended := make(chan int, 3)
	for i := range 3 {
		err := m.AddAsync([][]byte{{byte(i)}}, func(AddResult, error) {
			ended <- i
			if i == 1 {
				panic("a user's bug")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if n := got(t, "callback", ended); n != i {
			t.Errorf("callback %d came as number %d", n, i)
		}
	}
	h.add(m, "goes on")
}
