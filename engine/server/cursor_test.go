package server_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// cursor opens a cursor.
func (h *house) cursor(c *client.Client, topic, name string, o client.CursorOptions) *client.Cursor {
	h.t.Helper()
	u, err := c.Cursor(h.ctx(), topic, name, o)
	if err != nil {
		h.t.Fatal(err)
	}
	return u
}

// take ranges over a cursor until n entries came.
func (h *house) take(u *client.Cursor, n int) (got []client.Entry) {
	h.t.Helper()
	for b, err := range u.Batches(h.ctx()) {
		if err != nil {
			h.t.Fatalf("after %d entries: %v", len(got), err)
		}
		if got = append(got, b.Entries...); len(got) >= n {
			break
		}
	}
	return got
}

func TestCursorAcknowledges(t *testing.T) {
	for name, open := range map[string]func(testing.TB, ...func(*house)) *house{"memory": open, "pebble": openPebble} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			c := h.dial("demo")
			p := h.producer(c, "demo", client.ProducerOptions{})
			h.sendAll(p, 0, 1000)
			u := h.cursor(c, "demo", "billing", client.CursorOptions{})
			got := h.take(u, 1000)
			wantNumbered(t, got, 0, 1000)
			if err := u.AcknowledgeUpTo(h.ctx(), got[499].Position); err != nil {
				t.Fatal(err)
			}
			if err := u.Acknowledge(h.ctx(), got[501].Position, got[503].Position); err != nil {
				t.Fatal(err)
			}
			if err := u.Close(h.ctx()); err != nil {
				t.Fatal(err)
			}
			h.cut()
			h.start()
			d, err := c.DescribeCursor(h.ctx(), "demo", "billing")
			if err != nil || d.GetBacklog() != 498 {
				t.Errorf("%v, %v", d, err)
			}
			again := h.take(h.cursor(c, "demo", "billing", client.CursorOptions{MustExist: true}), 498)
			want := append([]client.Entry{got[500], got[502]}, got[504:]...)
			if len(again) != len(want) {
				t.Fatalf("%d entries, want %d", len(again), len(want))
			}
			for i := range want {
				if again[i].Position != want[i].Position || string(again[i].Payload) != string(want[i].Payload) {
					t.Fatalf("entry %d: %v %q, want %v", i, again[i].Position, again[i].Payload, want[i].Position)
				}
			}
		})
	}
}

// A cursor that is read goes on over a restart: every entry comes once, and
// acknowledgements of before and after hold.
func TestCursorResumes(t *testing.T) {
	h := openPebble(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	h.sendAll(p, 0, 300)
	u := h.cursor(c, "demo", "billing", client.CursorOptions{FrameBytes: 500, WindowEntries: 40})
	var got []client.Entry
	restarts := 0
	for b, err := range u.Batches(h.ctx()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b.Entries...)
		if len(got) > 100*(restarts+1) && restarts < 2 {
			if restarts++; restarts == 1 {
				h.stop()
			} else {
				h.cut()
			}
			h.start()
		}
		if n := len(b.Entries); n > 0 {
			if err := u.AcknowledgeUpTo(h.ctx(), b.Entries[n-1].Position); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) >= 300 {
			break
		}
	}
	wantNumbered(t, got, 0, 300)
	if d, err := c.DescribeCursor(h.ctx(), "demo", "billing"); err != nil || d.GetBacklog() != 0 || !d.GetConnected() {
		t.Errorf("%v, %v", d, err)
	}
}

func TestCursorSeek(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	places := h.sendAll(p, 0, 2000)
	u := h.cursor(c, "demo", "billing", client.CursorOptions{FrameBytes: 1000})
	for _, to := range []int{1500, 3, 1900, 0, 700} {
		h.take(u, 10)
		if err := u.Seek(h.ctx(), client.At(places[to])); err != nil {
			t.Fatal(err)
		}
		got := h.take(u, 1)
		if want := fmt.Sprintf("message %d", to); string(got[0].Payload) != want {
			t.Errorf("behind a seek comes %q, want %q", got[0].Payload, want)
		}
	}
	if err := u.Seek(h.ctx(), client.WhereCursor("none")); !errors.Is(err, reason.ErrCursorNotFound) {
		t.Errorf("%v", err)
	}
	if err := u.Seek(h.ctx(), client.Latest()); err != nil {
		t.Fatal(err)
	}
	h.sendAll(p, 2000, 5)
	wantNumbered(t, h.take(u, 5), 2000, 5)
}

func TestNewerCursorStreamEndsOlder(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	h.sendAll(p, 0, 10)
	older := h.cursor(c, "demo", "billing", client.CursorOptions{})
	h.take(older, 10)
	newer := h.cursor(h.dial(), "demo", "billing", client.CursorOptions{})
	wantNumbered(t, h.take(newer, 10), 0, 10)
	for _, err := range older.Batches(h.ctx()) {
		if err != nil && !errors.Is(err, reason.ErrReadInFlight) {
			t.Errorf("the older one: %v", err)
		}
	}
	if err := older.Acknowledge(h.ctx(), sdk.Position{}); !errors.Is(err, reason.ErrReadInFlight) {
		t.Errorf("the older one acknowledges: %v", err)
	}
	h.sendAll(p, 10, 5)
	wantNumbered(t, h.take(newer, 5), 10, 5)
}

func TestEphemeralCursorGoes(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	h.sendAll(p, 0, 10)
	u := h.cursor(c, "demo", "look", client.CursorOptions{Ephemeral: true})
	h.take(u, 10)
	if err := u.Close(h.ctx()); err != nil {
		t.Fatal(err)
	}
	// The stream's end reaches the server a moment later; taking the cursor
	// waits for it.
	next := h.cursor(c, "demo", "look", client.CursorOptions{Ephemeral: true, From: client.Latest()})
	h.sendAll(p, 10, 1)
	wantNumbered(t, h.take(next, 1), 10, 1)
}

// S-079: an entry that was received and not acknowledged comes again, whatever
// happens to the one who received it; one that was acknowledged does not.
func TestS079NothingIsAcknowledgedByItself(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	h.sendAll(p, 0, 20)
	acknowledged := map[sdk.Position]bool{}
	for round := range 20 {
		other := h.dial()
		u := h.cursor(other, "demo", "billing", client.CursorOptions{})
		got := h.take(u, 1)
		for _, e := range got {
			if acknowledged[e.Position] {
				t.Fatalf("%v was acknowledged and comes again", e.Position)
			}
		}
		if want := fmt.Sprintf("message %d", round); string(got[0].Payload) != want {
			t.Fatalf("%q comes, want %q", got[0].Payload, want)
		}
		if err := u.Acknowledge(h.ctx(), got[0].Position); err != nil {
			t.Fatal(err)
		}
		acknowledged[got[0].Position] = true
		_ = other.Close(h.ctx())
	}
}

func TestCursorAtTheEndOfATerminatedTopic(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	h.sendAll(p, 0, 10)
	u := h.cursor(c, "demo", "billing", client.CursorOptions{})
	wantNumbered(t, h.take(u, 10), 0, 10)
	last, err := c.TerminateTopic(h.ctx(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range u.Batches(h.ctx()) {
		if err != nil || len(b.Entries) > 0 {
			t.Errorf("%v, %v", b, err)
		}
	}
	if err := u.AcknowledgeUpTo(h.ctx(), last); err != nil {
		t.Error(err)
	}
	if _, err := p.Send(h.ctx(), text("x")); !errors.Is(err, reason.ErrTerminated) {
		t.Errorf("%v", err)
	}
	for _, err := range c.Reader("demo", client.ReadOptions{Follow: true}).Batches(h.ctx()) {
		if err != nil {
			t.Errorf("follow: %v", err)
		}
	}
}

func TestCursorAdministration(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	places := h.sendAll(p, 0, 100)
	if _, err := c.CreateCursor(h.ctx(), "demo", "a", client.At(places[10])); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what    string
		do      func() error
		backlog int64
	}{
		{"create", func() error { return nil }, 90},
		{"skip", func() error { _, err := c.SkipEntries(h.ctx(), "demo", "a", 5); return err }, 85},
		{"acknowledge one", func() error { return c.AcknowledgeEntries(h.ctx(), "demo", "a", places[50]) }, 84},
		{"acknowledge all up to", func() error { return c.AcknowledgeEntriesUpTo(h.ctx(), "demo", "a", places[60]) }, 39},
		{"seek", func() error { _, err := c.SeekCursor(h.ctx(), "demo", "a", client.At(places[95])); return err }, 5},
		{"clear", func() error { _, err := c.ClearBacklog(h.ctx(), "demo", "a"); return err }, 0},
		{"seek back", func() error { _, err := c.SeekCursor(h.ctx(), "demo", "a", client.Earliest()); return err }, 100},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
		if d, err := c.DescribeCursor(h.ctx(), "demo", "a"); err != nil || d.GetBacklog() != step.backlog {
			t.Errorf("%s: %v, %v, want a backlog of %d", step.what, d, err, step.backlog)
		}
	}
	all, err := c.Cursors(h.ctx(), "demo")
	if err != nil || len(all) != 1 || all[0].GetName() != "a" {
		t.Errorf("%v, %v", all, err)
	}
}

// A position beyond the end is a slip: to go there would acknowledge everything.
func TestCursorIsNotPutBeyondTheEnd(t *testing.T) {
	h := open(t)
	c := h.dial("demo", "empty")
	last, err := c.Append(h.ctx(), "demo", make([]message.Message, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateCursor(h.ctx(), "demo", "billing", client.Earliest()); err != nil {
		t.Fatal(err)
	}
	far := sdk.Position{Ledger: last.Ledger + 99}
	for name, start := range map[string]client.Start{
		"far": client.At(far), "behind far": client.After(far), "the entry after the next": client.At(last.Next().Next()),
		"behind the next": client.After(last.Next()), "the last there is": client.After(sdk.Position{Ledger: last.Ledger, Entry: math.MaxInt64}),
	} {
		_, errCreate := c.CreateCursor(h.ctx(), "demo", "audit", start)
		_, errSeek := c.SeekCursor(h.ctx(), "demo", "billing", start)
		for _, err := range []error{errCreate, errSeek} {
			if !errors.Is(err, reason.ErrPositionInvalid) || !strings.Contains(err.Error(), "which is at "+last.Next().String()) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if d, err := c.DescribeCursor(h.ctx(), "demo", "billing"); err != nil || d.GetBacklog() != 3 {
		t.Errorf("the cursor has moved: %v, %v", d, err)
	}
	for name, start := range map[string]client.Start{"the next": client.At(last.Next()), "behind the last": client.After(last)} {
		if d, err := c.SeekCursor(h.ctx(), "demo", "billing", start); err != nil || d.GetBacklog() != 0 {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if _, err := c.CreateCursor(h.ctx(), "empty", "billing", client.At(sdk.Position{})); err != nil {
		t.Errorf("the beginning of an empty topic: %v", err)
	}
}

// Ranges that a cursor cannot store are said, not kept quiet.
func TestDescribedCursorTellsWhatItCannotStore(t *testing.T) {
	h := open(t)
	c := h.dial()
	if err := c.CreateTopic(h.ctx(), "demo", map[string]string{"max-ack-ranges": "1"}); err != nil {
		t.Fatal(err)
	}
	last, err := c.Append(h.ctx(), "demo", make([]message.Message, 6)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateCursor(h.ctx(), "demo", "billing", client.Earliest()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{0, 1, 2} {
		p := sdk.Position{Ledger: last.Ledger, Entry: sdk.EntryID(1 + 2*i)}
		if err := c.AcknowledgeEntries(h.ctx(), "demo", "billing", p); err != nil {
			t.Fatal(err)
		}
		d, err := c.DescribeCursor(h.ctx(), "demo", "billing")
		if err != nil || d.GetRangesLeftOut() != want {
			t.Errorf("after %s: %v, %v; want %d ranges left out", p, d, err, want)
		}
	}
}
