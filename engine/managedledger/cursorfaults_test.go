package managedledger

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// uncached is a cache that keeps nothing.
func uncached(t *testing.T, executor scheduling.Executor) *entrycache.Cache {
	t.Helper()
	config := entrycache.DefaultConfig()
	config.MaxBytes = 0
	cache, err := entrycache.New(config, executor)
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

// S-016: a cursor whose write failed is written down without another
// acknowledgement, and who asked was told of the failure.
func TestS016FailedCursorWriteIsTriedAgain(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	c := h.cursor(m, "c")
	at := h.add(m, numbered(0, 3)...)
	h.metadata.Next(scripted.Put, scripted.Step{Before: fmt.Errorf("%w: no quorum", sdk.ErrUnavailable)})
	if err := c.AcknowledgeUpTo(h.ctx(), at[1]); !errors.Is(err, sdk.ErrUnavailable) {
		t.Fatalf("acknowledgement whose write failed: %v", err)
	}
	eventually(t, m, "the cursor is written down", func() bool { return !c.Stats().Unsaved })
	next := h.open("log") // the owner before is gone
	equal(t, "read after the crash", texts(h.readAll(h.cursor(next, "c"), 10)), numbered(2, 1))
	h.close(next)
	h.leave(m)
}

// S-017: the backlog of cursors that are made while entries arrive is what they
// read, and ends at zero.
func TestS017BacklogOfCursorsMadeUnderLoad(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger = 50
	m := h.open("log")
	var adding sync.WaitGroup
	adding.Go(func() {
		for i := range 2000 {
			if _, err := m.Add(h.ctx(), fmt.Append(nil, i)); err != nil {
				t.Errorf("add: %v", err)
				return
			}
		}
	})
	var cursors []*Cursor
	for i := range 40 {
		from := Earliest()
		if i%2 == 0 {
			from = Latest()
		}
		c, err := m.OpenCursor(h.ctx(), fmt.Sprint(i), CursorOptions{Durable: i%4 < 2, From: from})
		if err != nil {
			t.Fatal(err)
		}
		if c.Backlog() < 0 {
			t.Errorf("cursor %d: backlog %d", i, c.Backlog())
		}
		cursors = append(cursors, c)
	}
	adding.Wait()
	for _, c := range cursors {
		backlog := c.Backlog()
		read := h.readAll(c, 300)
		if int64(len(read)) != backlog {
			t.Errorf("cursor %s: backlog %d, read %d", c.Name(), backlog, len(read))
		}
		if len(read) > 0 {
			if err := c.AcknowledgeUpTo(h.ctx(), read[len(read)-1].Position); err != nil {
				t.Fatal(err)
			}
		}
		if c.Backlog() != 0 {
			t.Errorf("cursor %s: backlog %d after all was acknowledged", c.Name(), c.Backlog())
		}
	}
	h.close(m)
}
