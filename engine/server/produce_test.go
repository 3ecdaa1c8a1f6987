package server_test

import (
	"testing"

	"github.com/tidemark-engine/tidemark/sdk/client"
)

func TestProduceAndRead(t *testing.T) {
	for name, open := range map[string]func(testing.TB, ...func(*house)) *house{"memory": open, "pebble": openPebble} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			c := h.dial("demo")
			p := h.producer(c, "demo", client.ProducerOptions{})
			first, err := p.Send(h.ctx(), text("message 0"))
			if err != nil {
				t.Fatal(err)
			}
			places := append(h.sendAll(p, 1, 5000), first.Position)
			entries := h.readAll(c, "demo")
			wantNumbered(t, entries, 0, 5001)
			for i, e := range entries {
				want := first.Position
				if i > 0 {
					want = places[i-1]
				}
				if e.Position != want || e.Producer != p.Name() || e.Sequence != uint64(i)+1 || e.PublishTime.IsZero() {
					t.Fatalf("entry %d: %+v, its receipt says %v", i, e, want)
				}
			}
			if err := p.Close(h.ctx()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
