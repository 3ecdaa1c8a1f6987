package managedledger

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// TestStorePanicsWhileWriting has the store panic once in each call that an add
// and a roll make. The log tries again or recovers; nothing is lost or silent.
func TestStorePanicsWhileWriting(t *testing.T) {
	for name, script := range map[string]func(h *house){
		"create":     func(h *house) { h.ledgers.Next(scripted.Create, scripted.Step{Panic: true}) },
		"append":     func(h *house) { h.ledgers.Next(scripted.Append, scripted.Step{Panic: true}) },
		"seal":       func(h *house) { h.ledgers.Next(scripted.Seal, scripted.Step{Panic: true}) },
		"the record": func(h *house) { h.metadata.Next(scripted.Put, scripted.Step{Panic: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			m := h.open("log")
			defer h.close(m)
			script(h)
			var at []sdk.Position
			for i := range 3 {
				at = append(at, h.add(m, fmt.Sprint(i))...)
				if err := m.Roll(h.ctx()); err != nil {
					t.Fatalf("roll %d: %v", i, err)
				}
			}
			r, err := m.Read(h.ctx(), at[0], Max{Entries: 10})
			for len(r.Entries) < 3 && err == nil {
				var more ReadResult
				more, err = m.Read(h.ctx(), r.Next, Max{Entries: 10})
				if len(more.Entries) == 0 {
					break
				}
				r.Entries, r.Next = append(r.Entries, more.Entries...), more.Next
			}
			if err != nil || len(r.Entries) != 3 {
				t.Fatalf("%d of 3 entries, %v", len(r.Entries), err)
			}
			for i, e := range r.Entries {
				if e.Position != at[i] || string(e.Payload) != fmt.Sprint(i) {
					t.Errorf("entry %d is %q at %v, was added at %v", i, e.Payload, e.Position, at[i])
				}
			}
		})
	}
}

// TestStorePanicsWhileReading has the store panic in the opening of a ledger and
// in the read itself, wherever that runs. The read ends with the panic as its
// error, and the next one works.
func TestStorePanicsWhileReading(t *testing.T) {
	for _, op := range []scripted.Op{scripted.Open, scripted.Read} {
		for _, strategy := range scheduling.Builtin().All() {
			for _, blocking := range []bool{false, true} {
				t.Run(fmt.Sprintf("call %d %s blocking %t", op, strategy.Name(), blocking), func(t *testing.T) {
					h := newHouse(t)
					h.config.Submission = strategy
					h.settings.Store.BlockingReads = blocking
					m := h.open("log")
					at := h.add(m, "0", "1")
					h.close(m)
					m = h.open("log") // nothing is in the cache, and no handle is open
					defer h.close(m)
					c, err := m.OpenCursor(h.ctx(), "reader", CursorOptions{From: Earliest()})
					if err != nil {
						t.Fatal(err)
					}
					h.settings.Cache.DropLedger(at[0].Ledger)
					h.ledgers.Next(op, scripted.Step{Panic: true})
					if _, err := c.Read(h.ctx(), Max{Entries: 10}); !errors.Is(err, scheduling.ErrPanicked) {
						t.Errorf("the read in which the store panicked: %v", err)
					}
					h.ledgers.Next(op, scripted.Step{Panic: true})
					ended := make(chan error, 2)
					if err := c.ReadAsync(Max{Entries: 10}, ReadOptions{}, func(_ ReadResult, err error) { ended <- err }); err != nil {
						t.Fatal(err)
					}
					if err := got(t, "read", ended); !errors.Is(err, scheduling.ErrPanicked) {
						t.Errorf("the read that nobody waited for: %v", err)
					}
					if r, err := c.Read(h.ctx(), Max{Entries: 10}); err != nil || len(r.Entries) != 2 {
						t.Errorf("the next read: %d entries, %v", len(r.Entries), err)
					}
				})
			}
		}
	}
}
