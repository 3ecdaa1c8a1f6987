package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// TestPromise2StoreOutagesUnderLoad publishes through a client while the store
// refuses and fails at random: everything is stored once and in order.
func TestPromise2StoreOutagesUnderLoad(t *testing.T) {
	for range 2 {
		seed := uint64(time.Now().UnixNano())
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { outages(t, seed) })
	}
}

func outages(t *testing.T, seed uint64) {
	const messages = 60_000
	random := rand.New(rand.NewPCG(seed, 0))
	inner := memory.Open()
	t.Cleanup(func() { _ = inner.Close(context.Background()) })
	ledgers := &scripted.Ledgers{Inner: inner}
	var mu sync.Mutex // guards down and random
	down := 0
	busyOnly := random.IntN(2) == 0
	ledgers.Choose(func(op scripted.Op) scripted.Step {
		mu.Lock()
		defer mu.Unlock()
		if op != scripted.Append && op != scripted.Create && op != scripted.Open {
			return scripted.Step{}
		}
		if down == 0 && random.IntN(40) == 0 {
			down = 1 + random.IntN(30)
		}
		if down > 0 {
			down--
			kind := random.IntN(3)
			if busyOnly {
				kind = 0
			}
			switch kind {
			case 0:
				return scripted.Step{Before: sdk.ErrBusy}
			case 1:
				return scripted.Step{Before: sdk.ErrUnavailable}
			}
			if op == scripted.Append {
				return scripted.Step{After: sdk.ErrUnknownOutcome}
			}
		}
		return scripted.Step{}
	})
	h := openOver(t, engine.Settings{Ledgers: ledgers, Metadata: inner.Metadata(), Plugin: inner}, func(h *house) {
		h.config.Topic.MaxEntriesPerLedger = 5000
	})
	c := h.dialWith(client.Options{RetryFor: patience}, "t")
	p, err := c.Producer(h.ctx(), "t", client.ProducerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		err := p.SendAsync(h.ctx(), message.Message{Payload: fmt.Append(nil, i)}, func(_ client.Receipt, err error) {
			if err != nil {
				t.Errorf("message %d: %v", i, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(h.ctx()); err != nil {
		t.Fatal(err)
	}
	ledgers.Choose(nil)
	next := 0
	for batch, err := range c.Reader("t", client.ReadOptions{}).Batches(h.ctx()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Entries {
			if got := string(e.Message.Payload); got != fmt.Sprint(next) {
				t.Fatalf("entry %d at %s is %s", next, e.Position, got)
			}
			next++
		}
	}
	if next != messages {
		t.Errorf("%d of %d messages are there", next, messages)
	}
}
