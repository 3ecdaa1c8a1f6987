package server_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/tidemark-engine/tidemark/engine/server"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// S-076: what is accepted can be read back, one by one and in batches, with
// sizes around each limit; what is too large is refused with the limit.
func TestS076WhatIsAcceptedCanBeRead(t *testing.T) {
	for name, limits := range map[string]struct {
		change func(*house)
		near   int // where the largest message is searched
	}{
		"the topic's limit":     {func(h *house) { h.config.Topic.MaxEntryBytes = 100_000 }, 100_000},
		"the server's limit":    {func(h *house) { h.options.MaxMessageBytes, h.options.FrameBytes = 128<<10, 64<<10 }, 128 << 10},
		"the limits by default": {func(*house) {}, 5 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, limits.change)
			c := h.dial("demo")
			largest := 0
			for _, p := range []*client.Producer{
				h.producer(c, "demo", client.ProducerOptions{Name: strings.Repeat("n", 255)}),
				h.producer(c, "demo", client.ProducerOptions{Anonymous: true}),
			} {
				limit := search(limits.near, func(size int) bool {
					_, err := p.Send(h.ctx(), message.Message{Payload: make([]byte, size)})
					if err != nil && !errors.Is(err, sdk.ErrTooLarge) {
						t.Fatal(err)
					}
					return err == nil
				})
				largest = max(largest, limit)
				_, err := p.Send(h.ctx(), message.Message{Payload: make([]byte, limit+1)})
				if !errors.Is(err, sdk.ErrTooLarge) || !strings.ContainsAny(err.Error(), "0123456789") {
					t.Errorf("one byte more: %v", err)
				}
				for range 10 {
					if _, err := p.Send(h.ctx(), message.Message{Payload: make([]byte, limit)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, size := range []int{0, largest / 2, largest, largest + 1, largest + 1000, 2 * largest} {
				if _, err := c.Append(h.ctx(), "demo", message.Message{Payload: make([]byte, size)}); err != nil && size <= largest {
					t.Errorf("append of %d bytes: %v", size, err)
				}
			}
			d, err := c.DescribeTopic(h.ctx(), "demo")
			if err != nil {
				t.Fatal(err)
			}
			for _, frame := range []int{0, 1, 1 << 30} {
				n, most := 0, 0
				for e, err := range c.Reader("demo", client.ReadOptions{FrameBytes: frame}).Entries(h.ctx()) {
					if err != nil {
						t.Fatalf("frames of %d bytes: after %d entries: %v", frame, n, err)
					}
					n++
					most = max(most, len(e.Payload))
				}
				if int64(n) != d.GetEntries() || most < largest {
					t.Errorf("frames of %d bytes: %d entries of %d, the largest has %d bytes of %d", frame, n, d.GetEntries(), most, largest)
				}
			}
		})
	}
}

// search returns the largest size that fits, a little below near.
func search(near int, fits func(size int) bool) int {
	low, high := near-2000, near
	for high-low > 1 {
		if middle := (low + high) / 2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// One message that is too large does not take others with it.
func TestTooLargeAmongOthers(t *testing.T) {
	h := open(t, func(h *house) { h.config.Topic.MaxEntryBytes = 1000 })
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	for i := range 100 {
		if err := p.SendAsync(h.ctx(), text("message %d", i), func(_ client.Receipt, err error) {
			if err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Send(h.ctx(), message.Message{Payload: make([]byte, 900+i)}); (err != nil) != errors.Is(err, sdk.ErrTooLarge) {
			t.Fatal(err)
		} else if err == nil {
			continue
		}
	}
	if err := p.Flush(h.ctx()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range h.readAll(c, "demo") {
		if len(e.Payload) < 900 {
			if want := fmt.Sprintf("message %d", n); string(e.Payload) != want {
				t.Fatalf("%q, want %q", e.Payload, want)
			}
			n++
		}
	}
	if n != 100 {
		t.Errorf("%d messages, want 100", n)
	}
}

// Followers that never read cost bounded memory while a producer writes at full
// speed.
func TestFollowersThatNeverRead(t *testing.T) {
	h := openPebble(t, func(h *house) { h.config.Cache.MaxBytes = 8 << 20 })
	c := h.dial("demo")
	const followers, messages, size = 200, 4000, 16 << 10
	before := heap()
	conns := []*grpc.ClientConn{h.conn(fixedWindow), h.conn(fixedWindow), h.conn(fixedWindow)}
	for i := range followers {
		stream := h.readStream(conns[i%len(conns)], &tidemarkv1.ReadRequest{Topic: "demo", Follow: true})
		if _, err := stream.Recv(); err != nil { // the heartbeat; and no more
			t.Fatal(err)
		}
	}
	p := h.producer(c, "demo", client.ProducerOptions{})
	for range messages {
		if err := p.SendAsync(h.ctx(), message.Message{Payload: make([]byte, size)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(h.ctx()); err != nil {
		t.Fatal(err)
	}
	grown := heap() - before
	// The client's window is 64 KiB here, in the same heap.
	const perFollower, rest = 768 << 10, 128 << 20 // rest: cache, store, producer, the race detector
	t.Logf("%d followers: the heap has grown by %d MiB for %d MiB written", followers, grown>>20, messages*size>>20)
	if grown > followers*perFollower+rest {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
}

// With the windows that a client has by itself, readers that do not read hold
// large frames only up to a bound for all of them together.
func TestFramesShrinkWhenManyAreUnderWay(t *testing.T) {
	h := openPebble(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	for range 4000 {
		if err := p.SendAsync(h.ctx(), message.Message{Payload: make([]byte, 16<<10)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(h.ctx()); err != nil {
		t.Fatal(err)
	}
	stuck := func(n int) (largest int) {
		for range n {
			stream := h.readStream(h.conn(), &tidemarkv1.ReadRequest{Topic: "demo", Follow: true})
			for range 50 { // then no more
				frame, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range frame.GetEntries().GetRuns() {
					largest = max(largest, len(run.GetEntries()))
				}
			}
		}
		return largest
	}
	if n := stuck(1); n < 900<<10 {
		t.Errorf("a reader alone got frames of at most %d bytes", n)
	}
	server.HoldFrames(h.server, 65<<20)
	if n := stuck(1); n > 32<<10 {
		t.Errorf("a reader among many that hold frames got one of %d bytes", n)
	}
	server.HoldFrames(h.server, -65<<20)
}

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
