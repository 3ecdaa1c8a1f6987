package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// TestRestartUnderLoad stops the server, gently and not, while producers send
// and a reader follows. Everything acknowledged is there once and in order.
func TestRestartUnderLoad(t *testing.T) {
	h := open(t)
	const producers, messages, restarts = 8, 400, 4
	c := h.dial("demo")
	var sending sync.WaitGroup
	progress := make(chan struct{}, producers*messages)
	for n := range producers {
		p := h.producer(c, "demo", client.ProducerOptions{})
		sending.Go(func() {
			for i := range messages {
				if _, err := p.Send(h.ctx(), text("%d/%d", n, i)); err != nil {
					t.Errorf("message %d of producer %d: %v", i, n, err)
					return
				}
				progress <- struct{}{}
			}
		})
	}
	read := make(chan []client.Entry)
	go func() { read <- follow(h, c, producers*messages) }()
	for i := range restarts {
		for range producers * messages / (restarts + 1) {
			<-progress
		}
		if i%2 == 0 {
			h.stop()
		} else {
			h.cut()
		}
		h.start()
	}
	sending.Wait()
	got := <-read
	wantPerProducer(t, got, producers, messages)
	wantPerProducer(t, h.readAll(c, "demo"), producers, messages)
}

// follow reads n entries as they come.
func follow(h *house, c *client.Client, n int) (got []client.Entry) {
	for e, err := range c.Reader("demo", client.ReadOptions{Follow: true}).Entries(h.ctx()) {
		if err != nil {
			h.t.Error(err)
			return got
		}
		if got = append(got, e); len(got) == n {
			return got
		}
	}
	return got
}

// numbers reads producer and message out of a payload.
func numbers(t *testing.T, payload string) (producer, message int) {
	t.Helper()
	if _, err := fmt.Sscanf(payload, "%d/%d", &producer, &message); err != nil {
		t.Fatalf("%q: %v", payload, err)
	}
	return producer, message
}

func TestNamedProducerGoesOn(t *testing.T) {
	h := openPebble(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{Name: "loader"})
	if last, any := p.LastSequence(); any {
		t.Errorf("a new producer has sequence %d", last)
	}
	h.sendAll(p, 0, 100)
	// Or else it comes back after the restart and takes the name over again.
	if err := p.Close(h.ctx()); err != nil {
		t.Fatal(err)
	}
	h.cut()
	h.start()
	// Another process of the same name does not know how far the first got.
	again := h.producer(h.dial(), "demo", client.ProducerOptions{Name: "loader"})
	if last, any := again.LastSequence(); !any || last != 100 {
		t.Errorf("the last sequence is %d, %v", last, any)
	}
	for i := 90; i < 110; i++ {
		m := text("message %d", i)
		m.Sequence = uint64(i + 1)
		r, err := again.Send(h.ctx(), m)
		if err != nil || r.Duplicate != (i < 100) || r.Sequence != uint64(i+1) {
			t.Errorf("message %d: %+v, %v", i, r, err)
		}
	}
	wantNumbered(t, h.readAll(c, "demo"), 0, 110)
	m := text("late")
	m.Sequence = 5
	if _, err := again.Send(h.ctx(), m); !errors.Is(err, reason.ErrProducerSequence) {
		t.Errorf("a sequence that falls: %v", err)
	}
}

func TestNewerProducerReplaces(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	older := h.producer(c, "demo", client.ProducerOptions{Name: "one"})
	h.sendAll(older, 0, 5)
	newer := h.producer(h.dial(), "demo", client.ProducerOptions{Name: "one"})
	h.sendAll(newer, 5, 5)
	if _, err := older.Send(h.ctx(), text("stale")); !errors.Is(err, reason.ErrProducerReplaced) {
		t.Errorf("the older one: %v", err)
	}
	if _, err := older.Send(h.ctx(), text("stale")); !errors.Is(err, reason.ErrProducerReplaced) {
		t.Errorf("the older one again: %v", err)
	}
	h.sendAll(newer, 10, 5)
	wantNumbered(t, h.readAll(c, "demo"), 0, 15)
}

// A producer without a name cannot know what became of what was on its way.
func TestAnonymousProducerSaysSo(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{Anonymous: true})
	h.sendAll(p, 0, 10)
	h.cut()
	sent := make(chan error, 1)
	if err := p.SendAsync(h.ctx(), text("message 10"), func(_ client.Receipt, err error) { sent <- err }); err != nil {
		t.Fatal(err)
	}
	h.start()
	if err := <-sent; err != nil && !errors.Is(err, sdk.ErrUnknownOutcome) {
		t.Errorf("%v", err)
	}
	h.sendAll(p, 11, 10)
}

func TestNobodyThere(t *testing.T) {
	h := open(t)
	c := h.dialWith(client.Options{RetryFor: 100 * time.Millisecond}, "demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	h.sendAll(p, 0, 1)
	h.stop()
	if _, err := p.Send(h.ctx(), text("x")); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("send: %v", err)
	}
	if err := readOne(h, c, "demo", client.ReadOptions{}); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	if _, err := c.Cursor(h.ctx(), "demo", "billing", client.CursorOptions{}); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("cursor: %v", err)
	}
	if _, err := c.Producer(h.ctx(), "demo", client.ProducerOptions{}); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("producer: %v", err)
	}
	if _, err := client.Dial(context.Background(), h.address, client.Options{}); !errors.Is(err, sdk.ErrUnavailable) || !strings.Contains(err.Error(), h.address) {
		t.Errorf("dial: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Dial(ctx, h.address, client.Options{}); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("dial with patience: %v", err)
	}
	h.start()
	h.sendAll(p, 1, 3) // the producer is of use again
}

// A reader goes on where it was, over a restart, and each entry comes once.
func TestReaderResumes(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	h.sendAll(p, 0, 100)
	r := c.Reader("demo", client.ReadOptions{Follow: true, FrameBytes: 200})
	var got []client.Entry
	restarted := false
	for b, err := range r.Batches(h.ctx()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b.Entries...)
		if len(got) > 50 && !restarted {
			restarted = true
			h.stop()
			h.start()
			h.sendAll(p, 100, 50)
		}
		if len(got) >= 150 {
			break
		}
	}
	wantNumbered(t, got, 0, 150)
	h.sendAll(p, 150, 10)
	for e, err := range r.Entries(h.ctx()) { // goes on behind the last batch
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e); len(got) == 160 {
			break
		}
	}
	wantNumbered(t, got, 0, 160)
}

func TestReadFrom(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	places := h.sendAll(p, 0, 50)
	moment := time.Now()
	places = append(places, h.sendAll(p, 50, 50)...)
	if _, err := c.CreateCursor(h.ctx(), "demo", "billing", client.At(places[30])); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]struct {
		start client.Start
		first int
	}{
		"zero":     {client.Start{}, 0},
		"earliest": {client.Earliest(), 0},
		"latest":   {client.Latest(), 100},
		"at":       {client.At(places[20]), 20},
		"after":    {client.After(places[20]), 21},
		"time":     {client.Since(moment), 50},
		"cursor":   {client.WhereCursor("billing"), 30},
		"beyond":   {client.At(sdk.Position{Ledger: places[0].Ledger, Entry: 5000}), 100},
	} {
		t.Run(name, func(t *testing.T) {
			got := slices.Collect(func(yield func(client.Entry) bool) {
				for e, err := range c.Reader("demo", client.ReadOptions{From: from.start}).Entries(h.ctx()) {
					if err != nil {
						t.Fatal(err)
					}
					yield(e)
				}
			})
			wantNumbered(t, got, from.first, 100-from.first)
		})
	}
	few := 0
	for _, err := range c.Reader("demo", client.ReadOptions{MaxEntries: 7, Follow: true}).Entries(h.ctx()) {
		if err != nil {
			t.Fatal(err)
		}
		few++
	}
	if few != 7 {
		t.Errorf("%d entries of at most 7", few)
	}
}
