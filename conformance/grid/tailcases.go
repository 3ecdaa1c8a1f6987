package grid

import (
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/scheduling"
)

// tailCases are about reads at the tail while entries come.
func tailCases() []kase {
	return []kase{
		{"23 confirmed between start and end", "a policy that completes at the LAC does not wait for them", func(b *bed) {
			b.add(2)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 100, plain)
			b.settle()
			b.reached(gate)
			b.add(2)
			gate.Open()
			if !b.extends() && b.choice.Placement == scheduling.PlaceInline {
				r.yields(0, 1) // at once, before anything else runs
			}
			b.settle()
			got := r.entries()
			if b.extends() {
				b.same(got, 0, 3)
			} else {
				b.same(got, 0, 1)
			}
			b.same(append(got, b.drain(c, 100)...), 0, 3)
		}},
		{"10 waiters on one entry", "each gets it once", func(b *bed) {
			var all []*reading
			for i := range 10 {
				c, err := b.log.OpenCursor(b.ctx, string(rune('a'+i)), managedledger.CursorOptions{From: managedledger.Latest()})
				if err != nil {
					b.t.Fatal(err)
				}
				all = append(all, b.read(c, 10, waiting))
			}
			b.settle()
			mustBe(b, "waiting", b.log.Stats().WaitingReaders, 10)
			b.add(1)
			for _, r := range all {
				r.yields(0, 0)
			}
			mustBe(b, "waiting", b.log.Stats().WaitingReaders, 0)
		}},
		{"confirmed between the look and the registration", "no wake-up is missed", func(b *bed) {
			c := b.cursor()
			confirmed := false
			b.executor.onLane = func() {
				err := b.log.AddAsync(b.payloads(1), func(managedledger.AddResult, error) { confirmed = true })
				if err != nil {
					b.t.Error(err)
				}
				for !confirmed && b.ctx.Err() == nil {
					b.steps.Step()
				}
			}
			r := b.read(c, 10, waiting)
			mustBe(b, "confirmed meanwhile", confirmed, true)
			b.settle()
			r.yields(0, 0)
			mustBe(b, "waiting", b.log.Stats().WaitingReaders, 0)
		}},
		{"cancelled while waiting", "its callback never comes, and the next read waits anew", func(b *bed) {
			c := b.cursor()
			for range 50 {
				r := b.read(c, 10, waiting)
				b.settle()
				mustBe(b, "cancelled", c.CancelWait(), true)
				r.cancelled = true
				mustBe(b, "waiting", b.log.Stats().WaitingReaders, 0)
			}
			mustBe(b, "cancelled without a read", c.CancelWait(), false)
			r := b.read(c, 10, waiting)
			b.add(1)
			r.yields(0, 0)
		}},
		{"cancelled after it was woken", "its callback comes, or never: once", func(b *bed) {
			c := b.cursor()
			r := b.read(c, 10, waiting)
			b.settle()
			err := b.log.AddAsync(b.payloads(1), func(managedledger.AddResult, error) {
				// The waiters were woken, and their lanes have not run.
				r.cancelled = c.CancelWait()
			})
			if err != nil {
				b.t.Fatal(err)
			}
			for b.log.LastConfirmed().Entry < 0 && b.ctx.Err() == nil {
				b.steps.Step()
			}
			b.settle()
			mustBe(b, "called back", r.calls == 1, !r.cancelled)
			b.same(append(numbers(r.result.Entries), b.drain(c, 10)...), 0, 0)
		}},
		{"cancelled while the store reads", "its callback comes, if need be with nothing", func(b *bed) {
			at := b.add(2)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 10, waiting)
			b.settle()
			b.reached(gate)
			mustBe(b, "cancelled", c.CancelWait(), false)
			b.acknowledge(c, at...)
			gate.Open()
			b.settle()
			r.yields(1, 0)
			r = b.read(c, 10, waiting)
			b.settle()
			r.waits()
			b.add(1)
			r.yields(2, 2)
		}},
		{"callbacks that read on", "nested at most so deep, and all is read", func(b *bed) {
			for range 8 {
				b.add(5)
			}
			n := &nesting{b: b, c: b.cursor()}
			n.next()
			b.steps.RunAll()
			for n.depth > 0 || !n.ended {
				b.settle()
			}
			b.same(n.got, 0, 39)
			if n.deepest > scheduling.MaxInlineNesting {
				b.t.Errorf("%d callbacks were nested, at most %d may", n.deepest, scheduling.MaxInlineNesting)
			}
			if n.deepest > 1 && b.choice.Placement == scheduling.PlaceOnExecutor {
				b.t.Errorf("%d callbacks were nested on the executor", n.deepest)
			}
		}},
	}
}

// nesting reads entry by entry, each read started by the callback of the one
// before.
type nesting struct {
	b              *bed
	c              *managedledger.Cursor
	depth, deepest int
	got            []int
	ended          bool
}

func (n *nesting) next() {
	if err := n.c.ReadAsync(managedledger.Max{Entries: 1}, plain, n.called); err != nil {
		n.b.t.Error(err)
		n.ended = true
	}
}

func (n *nesting) called(r managedledger.ReadResult, err error) {
	n.depth++
	n.deepest = max(n.deepest, n.depth)
	n.got = append(n.got, numbers(r.Entries)...)
	if err != nil || len(r.Entries) == 0 {
		n.ended = true
	} else {
		n.next()
	}
	n.depth--
}
