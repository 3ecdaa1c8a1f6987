package grid

import (
	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
)

// boundCases are about the caller's bounds.
func boundCases() []kase {
	upTo := func(p sdk.Position, wait bool) managedledger.ReadOptions {
		return managedledger.ReadOptions{UpTo: &p, Wait: wait}
	}
	return []kase{
		{"12 the bound lies before the start", "an empty success", func(b *bed) {
			at := b.add(4)
			c := b.cursor()
			b.same(b.readNow(c, 3, plain), 0, 2)
			b.same(b.readNow(c, 3, upTo(at[1], false)), 1, 0)
			b.same(b.readNow(c, 3, plain), 3, 3)
		}},
		{"13 the bound is the end of a ledger", "stops there", func(b *bed) {
			at := b.add(5)
			b.add(3)
			b.forget()
			c := b.cursor()
			reads := b.ledgers.Calls(scripted.Read)
			b.same(b.readNow(c, 10, upTo(at[4], false)), 0, 4)
			mustBe(b, "storage reads", b.ledgers.Calls(scripted.Read)-reads, 1)
			b.same(b.drain(c, 10), 5, 7)
		}},
		{"13 the bound is in the middle", "stops there, and goes on from there", func(b *bed) {
			at := b.add(4)
			c := b.cursor()
			b.same(b.readNow(c, 10, upTo(at[1], false)), 0, 1)
			b.same(b.readNow(c, 10, upTo(at[3], false)), 2, 3)
		}},
		{"14 a wait at the bound", "waits, without turning, until the cursor is moved", func(b *bed) {
			at := b.add(4)
			c := b.cursor()
			b.same(b.readNow(c, 2, plain), 0, 1)
			r := b.read(c, 10, upTo(at[1], true))
			b.settle()
			r.waits()
			for range 3 {
				before := b.steps.Steps()
				b.add(1)
				if n := b.steps.Steps() - before; n > 30 {
					b.t.Fatalf("%d steps for one entry\n%s", n, b.steps.Schedule())
				}
				r.waits()
			}
			c.Rewind()
			b.settle()
			r.yields(0, 1)
		}},
		{"bytes", "at least one entry, no more than fit, and on from there", func(b *bed) {
			b.add(5)
			b.add(5) // one byte each
			b.forget()
			c := b.cursor()
			for _, want := range [][2]int{{0, 2}, {3, 5}, {6, 8}, {9, 9}} {
				r := b.reading(c, 100, plain)
				if err := c.ReadAsync(managedledger.Max{Entries: 100, Bytes: 3}, plain, r.called); err != nil {
					b.t.Fatal(err)
				}
				b.settle()
				got := r.entries()
				if b.extends() || want[0] != 3 {
					b.same(got, want[0], want[1])
				}
			}
		}},
		{"one read at a time", "a second one is refused while the first is in flight", func(b *bed) {
			b.add(2)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 10, plain)
			b.settle()
			b.reached(gate)
			err := c.ReadAsync(managedledger.Max{Entries: 1}, plain, nil)
			mustBe(b, "second read refused", err != nil, true)
			gate.Open()
			b.settle()
			r.yields(0, 1)
		}},
	}
}
