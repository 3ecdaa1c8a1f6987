package managedledger

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

type handleAnswer struct {
	r    sdk.LedgerReader
	kind scheduling.Handle
	err  error
}

func handleOf(m *ManagedLedger, id sdk.LedgerID) <-chan handleAnswer {
	out := make(chan handleAnswer, 1)
	m.handles.get(id, func(r sdk.LedgerReader, kind scheduling.Handle, err error) { out <- handleAnswer{r, kind, err} })
	return out
}

func TestHandleOfTheOpenLedgerIsTheWriters(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	at := h.add(m, "0")
	a := got(t, "handle", handleOf(m, at[0].Ledger))
	if a.err != nil || a.kind != scheduling.HandleWritable {
		t.Errorf("open ledger: %v, %v", a.kind, a.err)
	}
	if err := m.Roll(h.ctx()); err != nil {
		t.Fatal(err)
	}
	b := got(t, "handle", handleOf(m, at[0].Ledger))
	if b.err != nil || b.kind != scheduling.HandleClosed || b.r != a.r {
		t.Errorf("after the roll: %v, %v", b.kind, b.err)
	}
	if n := h.ledgers.Calls(scripted.Open); n != 0 {
		t.Errorf("%d opens for a ledger that was open already", n)
	}
}

func TestOneOpenForAllWhoAsk(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	at := h.add(m, "0")
	h.close(m)
	m = h.open("log")
	defer h.close(m)
	before := h.ledgers.Calls(scripted.Open)
	gate := scripted.NewGate()
	h.ledgers.Next(scripted.Open, scripted.Step{Hold: gate, Before: errDown})
	var asked []<-chan handleAnswer
	for range 5 {
		asked = append(asked, handleOf(m, at[0].Ledger))
	}
	got(t, "open", gate.Reached())
	gate.Open()
	for _, c := range asked {
		if a := got(t, "handle", c); !errors.Is(a.err, sdk.ErrUnavailable) || a.r != nil {
			t.Errorf("failed open: %v, %v", a.r, a.err)
		}
	}
	if n := h.ledgers.Calls(scripted.Open) - before; n != 1 {
		t.Errorf("%d opens", n)
	}
	// The failure is not kept.
	if a := got(t, "handle", handleOf(m, at[0].Ledger)); a.err != nil {
		t.Errorf("second attempt: %v", a.err)
	}
	m.handles.drop(at[0].Ledger)
	if a := got(t, "handle", handleOf(m, at[0].Ledger)); a.err != nil {
		t.Errorf("after drop: %v", a.err)
	}
	if n := h.ledgers.Calls(scripted.Open) - before; n != 3 {
		t.Errorf("%d opens", n)
	}
}

func TestHandlesAreBounded(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	at := h.rolled(m, numbered(0, maxReadHandles+10)...)
	h.close(m)
	m = h.open("log")
	defer h.close(m)
	first := got(t, "handle", handleOf(m, at[0].Ledger))
	for i := range at {
		if a := got(t, "handle", handleOf(m, at[i].Ledger)); a.err != nil {
			t.Fatal(a.err)
		}
		got(t, "handle used again", handleOf(m, at[0].Ledger))
	}
	if n := m.handles.open(); n != maxReadHandles {
		t.Errorf("%d handles open, the bound is %d", n, maxReadHandles)
	}
	if a := got(t, "handle", handleOf(m, at[0].Ledger)); a.r != first.r {
		t.Error("the handle in use was closed instead of the least recently used one")
	}
}

func TestHandlesAfterClose(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	at := h.rolled(m, "0", "1")
	h.close(m)
	m = h.open("log")
	gate := scripted.NewGate()
	h.ledgers.Next(scripted.Open, scripted.Step{HoldReply: gate})
	opening := handleOf(m, at[0].Ledger)
	got(t, "open", gate.Reached())
	h.close(m)
	if a := got(t, "handle that was opening", opening); a.err == nil {
		t.Error("handle of a closed log")
	}
	if a := got(t, "handle", handleOf(m, at[1].Ledger)); !errors.Is(a.err, sdk.ErrClosed) {
		t.Errorf("after close: %v", a.err)
	}
	gate.Open()
}

// wakes counts its wake-ups.
type wakes int

func (w *wakes) wake() { *w++ }

func TestWaiters(t *testing.T) {
	var s waiters
	all := make([]wakes, 5)
	for i := range all {
		s.add(&all[i])
	}
	if !s.remove(&all[2]) || s.remove(&all[2]) || s.waiting() != 4 {
		t.Errorf("remove; %d wait", s.waiting())
	}
	s.wakeAll()
	s.wakeAll()
	if s.remove(&all[0]) || s.waiting() != 0 {
		t.Errorf("still registered after the wake-up: %d", s.waiting())
	}
	s.add(&all[2])
	s.wakeAll()
	if want := fmt.Sprint([]wakes{1, 1, 1, 1, 1}); fmt.Sprint(all) != want {
		t.Errorf("wake-ups %v, want %s", all, want)
	}
}
