package managedledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
)

// While one write is under way, what is acknowledged goes with the next one, and
// everybody is answered.
func TestAcknowledgementsShareWrites(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, numbered(0, 100)...)
	c := h.cursor(m, "c")
	held := scripted.NewGate()
	h.metadata.Next(scripted.Put, scripted.Step{Hold: held})
	before := h.metadata.Calls(scripted.Put)
	var all sync.WaitGroup
	acknowledge := func(p sdk.Position) {
		all.Add(1)
		c.AcknowledgeAsync([]sdk.Position{p}, nil, func(err error) {
			if err != nil {
				t.Errorf("acknowledge %s: %v", p, err)
			}
			all.Done()
		})
	}
	acknowledge(where[0])
	got(t, "the first write", held.Reached())
	for _, p := range where[1:] {
		acknowledge(p)
	}
	if !c.Stats().Unsaved {
		t.Error("nothing is unsaved")
	}
	held.Open()
	all.Wait()
	if n := h.metadata.Calls(scripted.Put) - before; n != 2 {
		t.Errorf("%d writes, want 2", n)
	}
	next := h.open("log")
	if n := h.cursor(next, "c").Backlog(); n != 0 {
		t.Errorf("backlog %d after a crash", n)
	}
	h.close(next)
	h.leave(m)
}

func TestPassingCursorIsNotWritten(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, numbered(0, 3)...)
	c, err := m.OpenCursor(h.ctx(), "c", CursorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := h.metadata.Calls(scripted.Put)
	if err := errors.Join(c.Acknowledge(h.ctx(), where[1]), c.AcknowledgeUpTo(h.ctx(), where[1]), c.Seek(h.ctx(), Latest())); err != nil {
		t.Fatal(err)
	}
	if n := h.metadata.Calls(scripted.Put) - before; n != 0 || c.Stats().Unsaved {
		t.Errorf("%d writes, unsaved %t", n, c.Stats().Unsaved)
	}
	h.close(m)
}

// An acknowledgement of what is acknowledged waits for the write of the first
// one, and costs none of its own.
func TestAcknowledgedTwice(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, "one")
	c := h.cursor(m, "c")
	held := scripted.NewGate()
	h.metadata.Next(scripted.Put, scripted.Step{Hold: held})
	before := h.metadata.Calls(scripted.Put)
	first := later(func() error { return c.Acknowledge(h.ctx(), where[0]) })
	got(t, "the write", held.Reached())
	second := later(func() error { return c.Acknowledge(h.ctx(), where[0]) })
	eventually(t, m, "the second waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.saver.waiting) == 1
	})
	select {
	case err := <-second:
		t.Fatalf("the second is answered before the write has ended: %v", err)
	default:
	}
	held.Open()
	if err := errors.Join(got(t, "first", first), got(t, "second", second), c.Acknowledge(h.ctx(), where[0])); err != nil {
		t.Fatal(err)
	}
	if n := h.metadata.Calls(scripted.Put) - before; n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
	h.close(m)
}

// A write that got through although it seemed to fail does not make its owner
// take itself for another one.
func TestWriteThatOnlySeemedToFail(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, numbered(0, 3)...)
	c := h.cursor(m, "c")
	h.metadata.Next(scripted.Put, scripted.Step{After: errDown})
	if err := c.Acknowledge(h.ctx(), where[0]); !errors.Is(err, errDown) {
		t.Fatalf("acknowledge: %v", err)
	}
	eventually(t, m, "it is written", func() bool { return !c.Stats().Unsaved })
	if err := c.Acknowledge(h.ctx(), where[1]); err != nil {
		t.Fatal(err)
	}
	if m.State() != StateOpen {
		t.Errorf("state %s", m.State())
	}
	h.close(m)
	m = h.open("log")
	equal(t, "read", texts(h.readAll(h.cursor(m, "c"), 10)), numbered(2, 1))
	h.close(m)
}

// A write of a former owner that came between is no reason to give up; the
// acknowledgement stands.
func TestStrayWriteOfAFormerOwner(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, numbered(0, 3)...)
	c := h.cursor(m, "c")
	stray := cursorRecord{mark: where[0], owner: "former"}
	value, err := stray.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.metadata.Inner.Put(h.ctx(), cursorKey("log", "c"), value, sdk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	if err := c.AcknowledgeUpTo(h.ctx(), where[1]); err != nil {
		t.Fatal(err)
	}
	h.close(m)
	m = h.open("log")
	equal(t, "read", texts(h.readAll(h.cursor(m, "c"), 10)), numbered(2, 1))
	h.close(m)
}

// Closing writes down what could not be written before, or says that it could
// not; opening the cursor again goes on trying.
func TestCloseOfACursorThatCannotBeWritten(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, numbered(0, 3)...)
	c := h.cursor(m, "c")
	h.metadata.Always(scripted.Put, &scripted.Step{Before: errDown})
	if err := c.AcknowledgeUpTo(h.ctx(), where[0]); !errors.Is(err, errDown) {
		t.Fatalf("acknowledge: %v", err)
	}
	if err := c.Close(h.ctx()); !errors.Is(err, errDown) {
		t.Errorf("close: %v", err)
	}
	h.metadata.Always(scripted.Put, nil)
	c = h.cursor(m, "c")
	eventually(t, m, "it is written", func() bool { return !c.Stats().Unsaved })
	next := h.open("log")
	equal(t, "read after a crash", texts(h.readAll(h.cursor(next, "c"), 10)), numbered(1, 2))
	h.close(next)
	h.leave(m)
}

func TestCloseOfALogWritesItsCursors(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, numbered(0, 3)...)
	var all []*Cursor
	for i := range 5 {
		all = append(all, h.cursor(m, fmt.Sprint(i)))
	}
	h.metadata.Always(scripted.Put, &scripted.Step{Before: errDown})
	for _, c := range all {
		if err := c.AcknowledgeUpTo(h.ctx(), where[1]); !errors.Is(err, errDown) {
			t.Fatalf("acknowledge: %v", err)
		}
	}
	h.metadata.Always(scripted.Put, nil)
	h.close(m)
	m = h.open("log")
	for i := range all {
		equal(t, "read", texts(h.readAll(h.cursor(m, fmt.Sprint(i)), 10)), numbered(2, 1))
	}
	h.close(m)
}

// Who gives up waiting does not take the acknowledgement back.
func TestAcknowledgementWhoseContextEnds(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, numbered(0, 2)...)
	c := h.cursor(m, "c")
	held := scripted.NewGate()
	h.metadata.Next(scripted.Put, scripted.Step{Hold: held})
	go func() { _ = c.Acknowledge(h.ctx(), where[0]) }() // ends with the write
	got(t, "the write", held.Reached())
	ctx, cancel := context.WithCancel(h.ctx())
	ended := later(func() error { return c.Acknowledge(ctx, where[1]) })
	eventually(t, m, "it is acknowledged", func() bool { return c.Backlog() == 0 })
	cancel()
	if err := got(t, "acknowledgement", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("acknowledgement: %v", err)
	}
	held.Open()
	eventually(t, m, "it is written", func() bool { return !c.Stats().Unsaved })
	if err := c.Acknowledge(ctx, where[1]); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	h.close(m)
}

func TestMetadataStoreThatPanics(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	where := h.add(m, numbered(0, 2)...)
	c := h.cursor(m, "c")
	h.metadata.Next(scripted.Put, scripted.Step{Panic: true})
	ended := make(chan error, 1)
	c.AcknowledgeAsync(nil, &where[1], func(err error) { ended <- err })
	if err := got(t, "the acknowledgement", ended); err == nil {
		t.Error("it is answered as durable")
	}
	eventually(t, m, "it is written", func() bool { return !c.Stats().Unsaved })
	h.close(m)
	m = h.open("log")
	if n := h.cursor(m, "c").Backlog(); n != 0 {
		t.Errorf("backlog %d after a restart", n)
	}
	h.close(m)
}
