package managedledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

func TestOpenCursorOptions(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	open := func(name string, o CursorOptions) error {
		_, err := m.OpenCursor(h.ctx(), name, o)
		return err
	}
	for _, s := range []struct {
		what string
		name string
		o    CursorOptions
		want error
	}{
		{"one that must exist", "a", CursorOptions{MustExist: true}, reason.ErrCursorNotFound},
		{"no name", "", CursorOptions{}, sdk.ErrInvalid},
		{"both", "a", CursorOptions{MustExist: true, MustCreate: true}, sdk.ErrInvalid},
		{"new", "a", CursorOptions{Durable: true, MustCreate: true}, nil},
		{"again", "a", CursorOptions{Durable: true}, nil},
		{"that exists", "a", CursorOptions{MustExist: true}, nil},
		{"that must be new", "a", CursorOptions{Durable: true, MustCreate: true}, reason.ErrCursorExists},
		{"of the other kind", "a", CursorOptions{}, sdk.ErrInvalid},
		{"passing", "b", CursorOptions{}, nil},
		{"passing again", "b", CursorOptions{}, nil},
	} {
		if err := open(s.name, s.o); !errors.Is(err, s.want) || (s.want == nil) != (err == nil) {
			t.Errorf("%s: %v, want %v", s.what, err, s.want)
		}
	}
	a, _ := m.Cursor("a")
	again, err := m.OpenCursor(h.ctx(), "a", CursorOptions{Durable: true})
	if err != nil || a != again {
		t.Errorf("opening again gave another cursor, %v", err)
	}
	if got := strings.Join(m.Cursors(), " "); got != "a b" {
		t.Errorf("cursors %q", got)
	}
}

func TestManyOpenOneCursor(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	held := scripted.NewGate()
	h.metadata.Next(scripted.Put, scripted.Step{Hold: held})
	opened := make([]*Cursor, 20)
	var all sync.WaitGroup
	for i := range opened {
		all.Go(func() { opened[i], _ = m.OpenCursor(h.ctx(), "c", CursorOptions{Durable: true}) })
	}
	got(t, "the cursor is written", held.Reached())
	if _, found := m.Cursor("c"); found {
		t.Error("a cursor that is not stored is there")
	}
	held.Open()
	all.Wait()
	for _, c := range opened {
		if c == nil || c != opened[0] {
			t.Fatalf("not all have the same cursor: %p and %p", c, opened[0])
		}
	}
}

func TestCursorThatCannotBeMade(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	h.metadata.Next(scripted.Put, scripted.Step{After: errDown}) // stored all the same
	if _, err := m.OpenCursor(h.ctx(), "c", CursorOptions{Durable: true}); !errors.Is(err, errDown) {
		t.Fatalf("open: %v", err)
	}
	if _, found := m.Cursor("c"); found || len(m.Cursors()) != 0 {
		t.Error("the cursor is there")
	}
	if keys, err := h.metadata.Inner.List(h.ctx(), cursorPrefix("log"), "", 10); err != nil || len(keys) != 0 {
		t.Errorf("left behind: %v, %v", keys, err)
	}
	h.cursor(m, "c")
}

func TestCursorClosedAndOpenedAgain(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 6)...)
	c := h.cursor(m, "c")
	h.readAll(c, 10)
	if err := c.Acknowledge(h.ctx(), where[0], where[2]); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(h.ctx()); err != nil {
			t.Fatal(err)
		}
	}
	for what, err := range map[string]error{
		"read":        func() error { _, err := c.Read(h.ctx(), Max{Entries: 1}); return err }(),
		"acknowledge": c.Acknowledge(h.ctx(), where[1]),
		"seek":        c.Seek(h.ctx(), Earliest()),
	} {
		if !errors.Is(err, sdk.ErrClosed) {
			t.Errorf("%s after close: %v", what, err)
		}
	}
	again, found := m.Cursor("c")
	if !found || again == c {
		t.Fatal("the cursor cannot be opened again")
	}
	equal(t, "read by the new one", texts(h.readAll(again, 10)), append(numbered(1, 1), numbered(3, 3)...))
	if c.Backlog() < 0 || c.Stats().Name != "c" {
		t.Error("the closed one cannot be asked")
	}
	passing, err := m.OpenCursor(h.ctx(), "p", CursorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := passing.Close(h.ctx()); err != nil {
		t.Fatal(err)
	}
	if _, found := m.Cursor("p"); found {
		t.Error("a passing cursor is there after its close")
	}
}

func TestDeleteCursor(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	c := h.cursor(m, "c")
	waiting := later(func() error {
		_, err := c.ReadOrWait(h.ctx(), Max{Entries: 1})
		return err
	})
	eventually(t, m, "it waits", func() bool { return m.waiters.waiting() == 1 })
	h.metadata.Next(scripted.DeleteKey, scripted.Step{Before: errDown})
	if err := m.DeleteCursor(h.ctx(), "c"); !errors.Is(err, errDown) {
		t.Fatalf("delete that fails: %v", err)
	}
	if err := got(t, "read of the deleted cursor", waiting); !errors.Is(err, reason.ErrCursorNotFound) {
		t.Errorf("read of the deleted cursor: %v", err)
	}
	h.cursor(m, "c") // still there
	if err := m.DeleteCursor(h.ctx(), "c"); err != nil {
		t.Fatal(err)
	}
	if err := m.DeleteCursor(h.ctx(), "c"); !errors.Is(err, reason.ErrCursorNotFound) {
		t.Errorf("delete again: %v", err)
	}
	h.close(m)
	m = h.open("log")
	if names := m.Cursors(); len(names) != 0 {
		t.Errorf("back after a restart: %q", names)
	}
	h.close(m)
}

// S-013 and S-019: a crash loses nothing that a cursor has not acknowledged, and
// nothing that came after it was made at the end of an empty log.
func TestS013S019UnacknowledgedComesAgain(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	if _, err := m.OpenCursor(h.ctx(), "c", CursorOptions{Durable: true, From: Latest()}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // once before it was read, twice after
		if i == 0 {
			h.add(m, "one")
		}
		former := m
		m = h.open("log")
		h.leave(former)
		c := h.cursor(m, "c")
		equal(t, "read after a crash", texts(h.readAll(c, 10)), []string{"one"})
	}
	h.close(m)
}

// S-015: acknowledged ranges up to the limit do not come back, crossing it is
// said once and counted, and what was not acknowledged always comes.
func TestS015RangesBeyondTheLimit(t *testing.T) {
	for _, end := range []string{"closed", "crashed"} {
		t.Run(end, func(t *testing.T) {
			h := newHouse(t)
			var lines bytes.Buffer
			h.settings.Log = slog.New(slog.NewTextHandler(&lines, nil))
			const limit = 10
			h.config.MaxAckRanges = limit
			m := h.open("log")
			where := h.add(m, numbered(0, 3*limit)...)
			c := h.cursor(m, "c")
			var want []string
			for i := 0; i < len(where); i += 2 {
				if err := c.Acknowledge(h.ctx(), where[i+1]); err != nil {
					t.Fatal(err)
				}
			}
			for i := range where {
				if i%2 == 0 || i/2 >= limit {
					want = append(want, fmt.Sprintf("entry %d", i))
				}
			}
			if n := c.Stats().RangesLeftOut; n != 5 {
				t.Errorf("%d ranges left out, want 5", n)
			}
			if end == "closed" {
				h.close(m)
			}
			if n := strings.Count(lines.String(), "too many ranges"); n != 1 {
				t.Errorf("%d warnings:\n%s", n, &lines)
			}
			h.settings.Log = nil
			next := h.open("log")
			equal(t, "read", texts(h.readAll(h.cursor(next, "c"), 100)), want)
			h.close(next)
			if end == "crashed" {
				h.leave(m)
			}
		})
	}
}

// S-018: a cursor that stands beyond the end of the log, because the log lost
// its tail, is set back to it; what comes then is delivered.
func TestS018CursorBeyondTheEnd(t *testing.T) {
	h := newHouse(t)
	var lines bytes.Buffer
	m := h.open("log")
	where := h.add(m, numbered(0, 5)...)
	h.cursor(m, "c")
	h.close(m)
	beyond := cursorRecord{mark: sdk.Position{Ledger: where[0].Ledger, Entry: 9}}
	value, err := beyond.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.metadata.Inner.Put(h.ctx(), cursorKey("log", "c"), value, sdk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	h.settings.Log = slog.New(slog.NewTextHandler(&lines, nil))
	m = h.open("log")
	if !strings.Contains(lines.String(), "beyond the end") {
		t.Errorf("not said: %s", &lines)
	}
	c := h.cursor(m, "c")
	if c.MarkDelete() != where[4] || c.Backlog() != 0 {
		t.Errorf("mark-delete %s, backlog %d", c.MarkDelete(), c.Backlog())
	}
	h.add(m, numbered(5, 5)...)
	equal(t, "read", texts(h.readAll(c, 100)), numbered(5, 5))
	h.close(m)
}

// S-025: a consumed closed ledger goes although nothing is added any more, and
// the cursor stands at the start of what is left.
func TestS025ConsumedLedgerGoesWithoutTraffic(t *testing.T) {
	h := newHouse(t)
	h.config.RetentionBytes, h.config.RetentionTime = 0, 0
	h.config.MaxEntriesPerLedger = 3
	m := h.open("log")
	c := h.cursor(m, "c")
	where := h.add(m, numbered(0, 3)...)
	if err := c.AcknowledgeUpTo(h.ctx(), where[2]); err != nil {
		t.Fatal(err)
	}
	eventually(t, m, "the ledger is gone", func() bool { return m.Stats().Trimmed == where[2] })
	eventually(t, m, "the next ledger is open", func() bool { return len(m.Stats().Ledgers) == 1 })
	next := sdk.Position{Ledger: m.Stats().Ledgers[0].ID, Entry: sdk.NoEntry}
	if c.MarkDelete() != next || c.Backlog() != 0 {
		t.Errorf("mark-delete %s, backlog %d; want %s", c.MarkDelete(), c.Backlog(), next)
	}
	h.add(m, "next")
	equal(t, "read", texts(h.readAll(c, 10)), []string{"next"})
	h.close(m)
}

// A former owner that has not noticed cannot write a cursor any more: its
// acknowledgements fail, and this owner's do not.
func TestFormerOwnerCannotAcknowledge(t *testing.T) {
	h := newHouse(t)
	a := h.open("log")
	where := h.add(a, numbered(0, 4)...)
	old := h.cursor(a, "c")
	b := h.open("log")
	c := h.cursor(b, "c")
	if err := old.Acknowledge(h.ctx(), where[0]); !errors.Is(err, ErrFenced) {
		t.Errorf("by the former owner: %v", err)
	}
	eventually(t, a, "it noticed", func() bool { return a.State() == StateFenced })
	if err := old.Acknowledge(h.ctx(), where[0]); !errors.Is(err, ErrFenced) {
		t.Errorf("by the former owner, again: %v", err)
	}
	if err := c.Acknowledge(h.ctx(), where[1]); err != nil {
		t.Errorf("by the owner: %v", err)
	}
	h.leave(a)
	h.close(b)
	b = h.open("log")
	equal(t, "read", texts(h.readAll(h.cursor(b, "c"), 10)), append(numbered(0, 1), numbered(2, 2)...))
	h.close(b)
}

func TestCursorRecordThatMakesNoSense(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	h.cursor(m, "c")
	h.close(m)
	key := cursorKey("log", "c")
	kept, err := h.metadata.Inner.Get(h.ctx(), key)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range [][]byte{nil, []byte("nonsense"), {0x0a, 0x02, 0x08, 0xff}} {
		if _, err := h.metadata.Inner.Put(h.ctx(), key, value, sdk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		_, err := Open(h.ctx(), "log", h.settings, h.config, OpenOptions{})
		if !errors.Is(err, sdk.ErrCorrupt) || !strings.Contains(err.Error(), key) {
			t.Errorf("open with %q: %v", value, err)
		}
	}
	if _, err := h.metadata.Inner.Put(h.ctx(), key, kept.Value, sdk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	h.close(h.open("log"))
}

func FuzzDecodeCursor(f *testing.F) {
	r := cursorRecord{mark: sdk.Position{Ledger: 3, Entry: 4}, owner: "x"}
	value, err := r.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := decodeCursor(value)
		if err != nil {
			if !errors.Is(err, sdk.ErrCorrupt) {
				t.Fatalf("error without a kind: %v", err)
			}
			return
		}
		again, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeCursor(again)
		if err != nil || back.mark != r.mark || len(back.ranges) != len(r.ranges) || back.owner != r.owner {
			t.Fatalf("%+v became %+v, %v", r, back, err)
		}
	})
}

func TestCursorAfterTheLogsEnd(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, "one")
	c := h.cursor(m, "c")
	h.close(m)
	ctx := context.Background()
	for what, err := range map[string]error{
		"open":        func() error { _, err := m.OpenCursor(ctx, "d", CursorOptions{}); return err }(),
		"delete":      m.DeleteCursor(ctx, "c"),
		"read":        func() error { _, err := c.Read(ctx, Max{Entries: 1}); return err }(),
		"async":       c.ReadAsync(Max{Entries: 1}, ReadOptions{}, nil),
		"acknowledge": c.Acknowledge(ctx, where[0]),
		"positions":   func() error { _, err := c.ReadPositions(ctx, where, 0); return err }(),
		"seek":        c.Seek(ctx, Latest()),
		"skip":        c.Skip(ctx, 1),
		"clear":       c.Clear(ctx),
		"log read":    func() error { _, err := m.Read(ctx, where[0], Max{Entries: 1}); return err }(),
	} {
		if !errors.Is(err, sdk.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if c.CancelWait() || c.Close(ctx) != nil {
		t.Error("a cursor of a closed log cannot be closed")
	}
	c.Rewind()
	_, _, _ = c.Stats(), c.HasMore(), c.Backlog()
}
