package managedledger

import (
	"fmt"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
)

// Promise 13: what a cursor that is behind costs the store does not depend on
// how small its reads are, so it gains on the tail, also while the log grows.
func TestPromise13ReadsGrowWhileBehind(t *testing.T) {
	const entries, batch = 40_000, 10
	h := newHouse(t)
	m := h.open("log")
	h.cursor(m, "c")
	payloads := make([][]byte, entries)
	for i := range payloads {
		payloads[i] = fmt.Appendf(nil, "%0128d", i)
	}
	for at := 0; at < entries; at += 1000 {
		if _, err := m.Add(h.ctx(), payloads[at:at+1000]...); err != nil {
			t.Fatal(err)
		}
	}
	h.close(m)

	m = h.open("log")
	for _, l := range m.Stats().Ledgers {
		h.settings.Cache.DropLedger(l.ID)
	}
	c := h.cursor(m, "c")
	before, read, steps := h.ledgers.Calls(scripted.Read), 0, 0
	for read < entries {
		r, err := c.Read(h.ctx(), Max{Entries: batch})
		if err != nil || len(r.Entries) == 0 {
			t.Fatalf("after %d entries: %d, %v", read, len(r.Entries), err)
		}
		read += len(r.Entries)
		if steps++; steps%100 == 0 {
			h.add(m, "the log grows") // the reader is not alone
		}
	}
	if calls := h.ledgers.Calls(scripted.Read) - before; calls > entries/batch/50 {
		t.Errorf("%d entries in reads of %d took %d reads of the store", entries, batch, calls)
	}
	h.close(m)
}
