package managedledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
)

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
