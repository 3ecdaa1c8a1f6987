package managedledger

import (
	"slices"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
)

// rolled adds entries, one a ledger, the last ledger closed too.
func (h *house) rolled(m *ManagedLedger, payloads ...string) (at []sdk.Position) {
	h.t.Helper()
	for _, p := range payloads {
		at = append(at, h.add(m, p)...)
		if err := m.Roll(h.ctx()); err != nil {
			h.t.Fatal(err)
		}
	}
	return at
}

// S-028, S-034: the last entry can be trimmed; after it, and after crashes in
// the middle of a trim, neither ids nor the LAC go back.
func TestS028S034TrimEverything(t *testing.T) {
	for _, crash := range []string{"", "before the record is written", "before the ledgers are deleted"} {
		t.Run(crash, func(t *testing.T) {
			h := newHouse(t)
			m := h.open("log")
			at := h.rolled(m, "0", "1", "2")
			c := h.config
			c.RetentionBytes, c.RetentionTime = 0, 0
			gate := scripted.NewGate()
			switch crash {
			case "before the record is written":
				h.metadata.Next(scripted.Put, scripted.Step{Hold: gate})
			case "before the ledgers are deleted":
				h.ledgers.Next(scripted.Delete, scripted.Step{Hold: gate})
			}
			if err := m.Configure(c); err != nil { // which trims
				t.Fatal(err)
			}
			if crash == "" {
				eventually(t, m, "all trimmed", func() bool { return len(h.stored()) == 0 })
			} else {
				got(t, "the crash", gate.Reached())
			}
			h.config = c
			former := m
			m = h.open("log") // the former owner is stuck, as if it had crashed
			gate.Open()
			eventually(t, m, "all trimmed", func() bool { return len(h.stored()) == 0 })
			if m.LastConfirmed() != at[2] {
				t.Errorf("LAC %s, want %s", m.LastConfirmed(), at[2])
			}
			v := m.current()
			if v.readable(v.first()) || !v.first().After(at[2]) || v.trimmed != at[2] {
				t.Errorf("view %+v", v)
			}
			if _, gone := v.start(at[1]); !gone {
				t.Error("a trimmed position is not said to be gone")
			}
			if after := h.add(m, "3"); !after[0].After(at[2]) {
				t.Errorf("the next entry is at %s, behind %s", after[0], at[2])
			}
			if got := h.entries(m); !slices.Equal(got, []string{"3"}) {
				t.Errorf("stored %q", got)
			}
			h.close(m)
			if former != m {
				h.leave(former)
			}
		})
	}
}

func TestTrimKeepsWhatRetentionSays(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.rolled(m, "0123456789", "0123456789", "0123456789", "0123456789", "0123456789")
	if n, err := m.Trim(h.ctx()); n != 0 || err != nil {
		t.Errorf("trimmed %d, %v", n, err)
	}
	c := h.config
	c.RetentionBytes = 25
	m.configured.Store(&c)
	if n, err := m.Trim(h.ctx()); n != 2 || err != nil {
		t.Errorf("trimmed %d, %v", n, err)
	}
	s := m.Stats()
	if s.Bytes != 30 || s.Entries != 3 || len(s.Ledgers) != 3 {
		t.Errorf("left %+v", s)
	}
	// The time comes with no traffic.
	c.RetentionBytes, c.RetentionTime = -1, time.Nanosecond
	m.configured.Store(&c)
	m.Maintain(time.Now())
	eventually(t, m, "trimmed by time", func() bool { return len(m.Stats().Ledgers) == 0 })
}

func TestTruncate(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.rolled(m, "0", "1")
	at := h.add(m, "2")
	if err := m.Truncate(h.ctx()); err != nil {
		t.Fatal(err)
	}
	if got := h.entries(m); len(got) != 0 {
		t.Errorf("left %q", got)
	}
	if m.LastConfirmed() != at[0] {
		t.Errorf("LAC %s, want %s", m.LastConfirmed(), at[0])
	}
	h.add(m, "3")
	if got := h.entries(m); !slices.Equal(got, []string{"3"}) {
		t.Errorf("stored %q", got)
	}
}

// S-026: whatever a listing says, only ledgers that the record names as removed
// are deleted.
func TestS026NothingIsDeletedBecauseOfAListing(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	h.rolled(m, numbered(0, 5)...)
	h.metadata.Always(scripted.List, &scripted.Step{Before: errDown})
	h.ledgers.Always(scripted.List, &scripted.Step{Before: errDown})
	m.Maintain(time.Now().Add(time.Hour))
	if n, err := m.Trim(h.ctx()); n != 0 || err != nil {
		t.Errorf("trimmed %d, %v", n, err)
	}
	h.metadata.Always(scripted.List, nil)
	h.close(m)
	if ids := h.stored(); len(ids) != 5 {
		t.Errorf("ledgers left: %v", ids)
	}
}

// A delete that fails is made up for, at the latest by the next owner.
func TestTrimWhoseDeleteFails(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	h.rolled(m, "0", "1")
	h.ledgers.Next(scripted.Delete, scripted.Step{Before: errDown}, scripted.Step{}, scripted.Step{Before: sdk.ErrCorrupt})
	if err := m.Truncate(h.ctx()); err != nil {
		t.Fatal(err)
	}
	eventually(t, m, "one deleted", func() bool { return len(h.stored()) == 1 })
	h.close(m)
	m = h.open("log")
	defer h.close(m)
	eventually(t, m, "both deleted", func() bool { return len(h.stored()) == 0 })
}
