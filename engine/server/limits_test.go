package server_test

import (
	"sync"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/sdk/client"
)

// A topic without room is back-pressure: many producers with much outstanding
// get everything through, in order, named and not.
func TestTopicWithoutRoomIsBackPressure(t *testing.T) {
	for name, anonymous := range map[string]bool{"named": false, "anonymous": true} {
		t.Run(name, func(t *testing.T) {
			h := open(t, func(h *house) { h.config.Topic.MaxPendingEntries = 3 })
			c := h.dial("demo", "other")
			const producers, messages = 20, 100
			var all sync.WaitGroup
			for n := range producers {
				p := h.producer(c, "demo", client.ProducerOptions{Anonymous: anonymous, MaxBatchMessages: 1 + n%3})
				all.Go(func() {
					for i := range messages {
						if err := p.SendAsync(h.ctx(), text("%d/%d", n, i), func(_ client.Receipt, err error) {
							if err != nil {
								t.Errorf("producer %d: %v", n, err)
							}
						}); err != nil {
							t.Error(err)
							return
						}
					}
					if err := p.Close(h.ctx()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			wantPerProducer(t, h.readAll(c, "demo"), producers, messages)
		})
	}
}

// wantPerProducer checks that each producer's messages are there once and in
// order.
func wantPerProducer(t *testing.T, entries []client.Entry, producers, messages int) {
	t.Helper()
	due := make([]int, producers)
	for _, e := range entries {
		n, i := numbers(t, string(e.Payload))
		if i != due[n] {
			t.Fatalf("%q comes when message %d of producer %d is due", e.Payload, due[n], n)
		}
		due[n]++
	}
	for n, i := range due {
		if i != messages {
			t.Errorf("%d messages of producer %d, want %d", i, n, messages)
		}
	}
}

// A stream with much unanswered is not received from; all goes through all the
// same.
func TestStreamWithoutRoomIsBackPressure(t *testing.T) {
	h := open(t, func(h *house) { h.options.StreamBytes = 1 })
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{MaxBatchMessages: 3})
	h.sendAll(p, 0, 2000)
	wantNumbered(t, h.readAll(c, "demo"), 0, 2000)
}

// A producer holds back its user at its limit.
func TestProducerWithoutRoomWaits(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{MaxPendingBytes: 100})
	h.sendAll(p, 0, 500)
	wantNumbered(t, h.readAll(c, "demo"), 0, 500)
}

// With linger, what is sent within that time goes together; a flush does not
// wait for it.
func TestLinger(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{Linger: time.Hour, MaxBatchMessages: 10})
	ended := make(chan error, 20)
	for i := range 15 {
		if err := p.SendAsync(h.ctx(), text("message %d", i), func(_ client.Receipt, err error) { ended <- err }); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 { // a full batch goes at once
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(h.ctx()); err != nil {
		t.Fatal(err)
	}
	wantNumbered(t, h.readAll(c, "demo"), 0, 15)
	short := h.producer(c, "demo", client.ProducerOptions{Linger: time.Millisecond})
	if _, err := short.Send(h.ctx(), text("message 15")); err != nil {
		t.Fatal(err)
	}
}

// Producers of several topics and connections do not get in each other's way.
func TestManyTopicsOverOneClient(t *testing.T) {
	h := open(t)
	topics := []string{"a", "b", "c", "d", "e"}
	c := h.dialWith(client.Options{Connections: 3}, topics...)
	var all sync.WaitGroup
	for _, topic := range topics {
		p := h.producer(c, topic, client.ProducerOptions{})
		all.Go(func() {
			for i := range 200 {
				if _, err := p.Send(h.ctx(), text("message %d", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	for _, topic := range topics {
		wantNumbered(t, h.readAll(c, topic), 0, 200)
	}
	if err := c.DeleteTopic(h.ctx(), "a"); err != nil {
		t.Fatal(err)
	}
	h.sendAll(h.producer(c, "b", client.ProducerOptions{}), 200, 10)
}
