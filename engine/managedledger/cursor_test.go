package managedledger

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// cursor opens a durable cursor at the log's start.
func (h *house) cursor(m *ManagedLedger, name string) *Cursor {
	h.t.Helper()
	c, err := m.OpenCursor(h.ctx(), name, CursorOptions{Durable: true})
	if err != nil {
		h.t.Fatalf("open cursor: %v", err)
	}
	return c
}

// payloads returns the entries' payloads as text.
func (r ReadResult) payloads() []string {
	var all []string
	for _, e := range r.Entries {
		all = append(all, string(e.Payload))
	}
	return all
}

// readAll reads on until nothing is left.
func (h *house) readAll(c *Cursor, most int) []Entry {
	h.t.Helper()
	var all []Entry
	for {
		r, err := c.Read(h.ctx(), Max{Entries: most})
		if err != nil {
			h.t.Fatalf("read: %v", err)
		}
		if len(r.Entries) == 0 {
			return all
		}
		all = append(all, r.Entries...)
	}
}

func texts(entries []Entry) []string { return ReadResult{Entries: entries}.payloads() }

func TestCursorReadsAndAcknowledges(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	c := h.cursor(m, "c")
	at := h.add(m, numbered(0, 10)...)
	got := h.readAll(c, 3)
	equal(t, "read", texts(got), numbered(0, 10))
	if err := c.Acknowledge(h.ctx(), at[0], at[1], at[3]); err != nil {
		t.Fatal(err)
	}
	if c.MarkDelete() != at[1] || c.Backlog() != 7 {
		t.Fatalf("mark-delete %s, backlog %d", c.MarkDelete(), c.Backlog())
	}
	h.close(m)

	m = h.open("log")
	c = h.cursor(m, "c")
	equal(t, "read after a restart", texts(h.readAll(c, 100)), append(numbered(2, 1), numbered(4, 6)...))
	if c.MarkDelete() != at[1] || c.Backlog() != 7 {
		t.Fatalf("mark-delete %s, backlog %d after a restart", c.MarkDelete(), c.Backlog())
	}
	h.close(m)
}

func TestReadWaits(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	c := h.cursor(m, "c")
	blocking := later(func() ReadResult {
		r, err := m.ReadOrWait(h.ctx(), sdk.Position{}, Max{Entries: 10})
		if err != nil {
			t.Errorf("cursorless: %v", err)
		}
		return r
	})
	called := make(chan ReadResult, 1)
	err := c.ReadAsync(Max{Entries: 10}, ReadOptions{Wait: true}, func(r ReadResult, err error) {
		if err != nil {
			t.Errorf("callback: %v", err)
		}
		called <- r
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ReadAsync(Max{Entries: 1}, ReadOptions{}, nil); !errors.Is(err, reason.ErrReadInFlight) {
		t.Fatalf("second read: %v", err)
	}
	eventually(t, m, "both wait", func() bool { return m.waiters.waiting() == 2 })
	h.add(m, "one")
	equal(t, "cursorless", got(t, "cursorless read", blocking).payloads(), []string{"one"})
	equal(t, "callback", got(t, "callback", called).payloads(), []string{"one"})
	if n := m.waiters.waiting(); n != 0 {
		t.Errorf("%d still wait", n)
	}
	ctx, cancel := context.WithCancel(h.ctx())
	ended := later(func() error {
		_, err := c.ReadOrWait(ctx, Max{Entries: 1})
		return err
	})
	eventually(t, m, "it waits", func() bool { return m.waiters.waiting() == 1 })
	cancel()
	if err := got(t, "cancelled read", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled read: %v", err)
	}
	h.close(m)
}

func TestSeek(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	c := h.cursor(m, "c")
	at := h.add(m, numbered(0, 10)...)
	h.readAll(c, 100)
	if err := c.AcknowledgeUpTo(h.ctx(), at[9]); err != nil {
		t.Fatal(err)
	}
	if c.HasMore() || c.Backlog() != 0 {
		t.Fatal("more after all was read and acknowledged")
	}
	for _, s := range []struct {
		to   Start
		want []string
	}{
		{At(at[4]), numbered(4, 6)},
		{After(at[4]), numbered(5, 5)},
		{Earliest(), numbered(0, 10)},
		{Latest(), nil},
		{At(sdk.Position{Ledger: 99}), nil},
	} {
		if err := c.Seek(h.ctx(), s.to); err != nil {
			t.Fatal(err)
		}
		equal(t, "read after seek", texts(h.readAll(c, 4)), s.want)
		if c.Backlog() != int64(len(s.want)) {
			t.Errorf("backlog %d, want %d", c.Backlog(), len(s.want))
		}
	}
	h.close(m)
}

// equal compares what was read with what was to be read.
func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %d %.300q, want %d %.300q", what, len(got), got, len(want), want)
	}
}
