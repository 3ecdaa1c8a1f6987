package managedledger

import (
	"errors"
	"slices"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
)

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
