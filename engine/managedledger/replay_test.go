package managedledger

import (
	"errors"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

func TestReadPositions(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 4
	for _, cached := range []bool{true, false} {
		if !cached {
			h.settings.Cache = uncached(t, h.settings.Executor)
		}
		m := h.open("log" + map[bool]string{true: " cached"}[cached])
		where := h.add(m, numbered(0, 12)...)
		c := h.cursor(m, "c")
		h.readAll(c, 100)
		if err := c.Acknowledge(h.ctx(), where[1], where[8]); err != nil {
			t.Fatal(err)
		}
		place := c.ReadPosition()
		r, err := c.ReadPositions(h.ctx(), []sdk.Position{where[9], where[0], where[1], where[2], where[3], where[4], where[8], where[9]}, 0)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "read", texts(r.Entries), []string{"entry 0", "entry 2", "entry 3", "entry 4", "entry 9"})
		if len(r.Settled) != 2 || r.Settled[0] != where[1] || r.Settled[1] != where[8] || len(r.Rest) != 0 {
			t.Errorf("settled %v, rest %v", r.Settled, r.Rest)
		}
		if c.ReadPosition() != place {
			t.Errorf("moved to %s", c.ReadPosition())
		}
		h.close(m)
	}
}

func TestReadPositionsBounds(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 9)...) // of 7 bytes
	c := h.cursor(m, "c")
	for limit, want := range map[int]int{1: 1, 7: 1, 8: 1, 14: 2, 20: 2, 63: 9, 0: 9} {
		r, err := c.ReadPositions(h.ctx(), where, limit)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "read", texts(r.Entries), numbered(0, want))
		if len(r.Rest) != 9-want {
			t.Errorf("limit %d: rest %v", limit, r.Rest)
		}
	}
	if r, err := c.ReadPositions(h.ctx(), nil, 0); err != nil || len(r.Entries) > 0 {
		t.Errorf("none: %+v, %v", r, err)
	}
	for _, p := range []sdk.Position{where[8].Next(), {Ledger: 99}, {Entry: -1}} {
		if _, err := c.ReadPositions(h.ctx(), []sdk.Position{where[0], p}, 0); !errors.Is(err, reason.ErrPositionInvalid) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := c.ReadPositions(h.ctx(), where, -1); !errors.Is(err, sdk.ErrInvalid) {
		t.Errorf("less than no bytes: %v", err)
	}
}

func TestReadPositionsOfWhatWasTrimmed(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 3
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 8)...)
	c, err := m.OpenCursor(h.ctx(), "c", CursorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := h.config
	config.RetentionBytes, config.RetentionTime = 0, 0
	if err := m.Configure(config); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Trim(h.ctx()); err != nil {
		t.Fatal(err)
	}
	r, err := c.ReadPositions(h.ctx(), []sdk.Position{where[1], where[2], where[4], where[6], where[7]}, 0)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "read", texts(r.Entries), numbered(6, 2))
	if len(r.Settled) != 3 {
		t.Errorf("settled %v", r.Settled)
	}
}

func TestReadPositionsThatFails(t *testing.T) {
	h := newHouse(t)
	h.settings.Cache = uncached(t, h.settings.Executor)
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 5)...)
	c := h.cursor(m, "c")
	h.ledgers.Next(scripted.Read, scripted.Step{}, scripted.Step{Before: errDown})
	r, err := c.ReadPositions(h.ctx(), []sdk.Position{where[0], where[2]}, 0)
	if !errors.Is(err, errDown) || len(r.Entries) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
