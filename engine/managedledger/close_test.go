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
