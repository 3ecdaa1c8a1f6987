package managedledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Producers on goroutines of their own, a store that fails at random, and a
// ticker: for the race detector, and for what a hand-stepped history cannot
// reach. Every entry that was acknowledged is stored once.
func TestStorm(t *testing.T) {
	h := newHouse(t)
	h.config.MaxEntriesPerLedger, h.config.MaxPendingEntries = 100, 64
	m := h.open("log")
	unknown := fmt.Errorf("%w: script says so", sdk.ErrUnknownOutcome)
	dice := rand.New(rand.NewPCG(1, 2)) // used under the lock of a script only
	h.ledgers.Choose(func(op scripted.Op) scripted.Step {
		switch n := dice.IntN(100); {
		case op == scripted.Append && n < 4:
			return []scripted.Step{
				{Before: errDown}, {After: unknown}, {After: unknown, Cut: true, Keep: 1}, {Repeat: true},
			}[n]
		case op != scripted.Append && n < 10:
			return scripted.Step{Before: errDown}
		}
		return scripted.Step{}
	})
	const producers, each = 16, 300
	acked := make([][]string, producers)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				text := fmt.Sprint(p, "-", i)
				if _, err := m.Add(h.ctx(), []byte(text)); err == nil {
					acked[p] = append(acked[p], text)
				} else if !errors.Is(err, sdk.ErrUnavailable) && !errors.Is(err, sdk.ErrUnknownOutcome) {
					t.Errorf("add: %v", err)
				}
			}
		})
	}
	over := make(chan struct{})
	ticker := later(func() error {
		for {
			select {
			case <-over:
				return nil
			case now := <-time.After(time.Millisecond):
				m.Maintain(now)
				m.Stats()
				_ = m.Roll(h.ctx())
			}
		}
	})
	wg.Wait()
	close(over)
	<-ticker
	h.ledgers.Choose(nil)
	h.add(m, "the end")
	log := map[string]int{}
	for _, e := range h.entries(m) {
		log[e]++
	}
	for text, n := range log {
		if n > 1 {
			t.Errorf("%s is stored %d times", text, n)
		}
	}
	for _, texts := range acked {
		for _, text := range texts {
			if log[text] != 1 {
				t.Errorf("%s was acknowledged and is stored %d times", text, log[text])
			}
		}
	}
	h.close(m)
}
