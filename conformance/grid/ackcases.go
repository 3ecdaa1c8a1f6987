package grid

import (
	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
)

// ackCases are about entries that are acknowledged, or left out by the caller.
func ackCases() []kase {
	return []kase{
		{"06 a ledger that is acknowledged", "skipped without opening it", func(b *bed) {
			at := b.add(5)
			b.add(2)
			c := b.cursor()
			b.acknowledge(c, at...)
			b.forget()
			c.Rewind()
			reads, opened := b.ledgers.Calls(scripted.Read), b.ledgers.Calls(scripted.Open)
			b.same(b.readNow(c, 10, plain), 5, 6)
			mustBe(b, "storage reads", b.ledgers.Calls(scripted.Read)-reads, 1)
			mustBe(b, "ledgers opened", b.ledgers.Calls(scripted.Open)-opened, 0)
		}},
		{"07 all of the window acknowledged, more behind", "goes on to what is behind", func(b *bed) {
			at := b.add(4)
			b.add(4)
			c := b.cursor()
			b.acknowledge(c, at[1], at[2], at[3])
			b.same(b.readNow(c, 1, plain), 0, 0)
			b.same(b.readNow(c, 2, plain), 4, 5)
		}},
		{"08 all acknowledged up to the LAC", "an empty success behind the LAC, and a wait that goes on waiting", func(b *bed) {
			at := b.add(4)
			c := b.cursor()
			b.same(b.readNow(c, 1, plain), 0, 0)
			b.acknowledge(c, at[1], at[2], at[3])
			b.same(b.readNow(c, 10, plain), 1, 0)
			mustBe(b, "read position", c.ReadPosition(), at[3].Next())
			c.Rewind()
			b.acknowledge(c, at[0])
			r := b.read(c, 10, waiting)
			b.settle()
			r.waits()
			b.add(1)
			r.yields(4, 4)
		}},
		{"09 a hole in the window", "both sides in one result, the hole never", func(b *bed) {
			at := b.add(5)
			c := b.cursor()
			b.acknowledge(c, at[2])
			for range 2 {
				r := b.read(c, 10, plain)
				b.settle()
				b.these(r.entries(), []int{0, 1, 3, 4})
				b.forget()
				c.Rewind()
			}
		}},
		{"10 acknowledged while the read is in flight", "left out", func(b *bed) {
			at := b.add(4)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 10, plain)
			b.settle()
			b.reached(gate)
			b.acknowledge(c, at[0], at[2])
			gate.Open()
			b.settle()
			b.these(r.entries(), []int{1, 3})
		}},
		{"10 all of it acknowledged while the read is in flight", "goes on to what is behind", func(b *bed) {
			at := b.add(5)
			b.add(2)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 5, plain)
			b.settle()
			b.reached(gate)
			b.acknowledge(c, at...)
			gate.Open()
			b.settle()
			r.yields(5, 6)
		}},
		{"11 the caller skips all of the window", "goes on to what is behind; all up to the LAC is an empty success", func(b *bed) {
			at := b.add(5)
			b.add(3)
			c := b.cursor()
			last := at[4]
			r := b.read(c, 2, managedledger.ReadOptions{Skip: func(p sdk.Position) bool { return !p.After(last) }})
			b.settle()
			r.yields(5, 6)
			c.Rewind()
			r = b.read(c, 2, managedledger.ReadOptions{Skip: func(sdk.Position) bool { return true }})
			b.settle()
			r.yields(1, 0)
			r = b.read(c, 2, managedledger.ReadOptions{Wait: true, Skip: func(p sdk.Position) bool { return p.Entry%2 == 0 }})
			b.settle()
			r.waits()
			b.add(2)
			b.settle()
			b.these(r.entries(), []int{8})
		}},
		{"10 all of it acknowledged while the read is in flight, nothing behind", "a read that waits goes on waiting", func(b *bed) {
			at := b.add(3)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 10, waiting)
			b.settle()
			b.reached(gate)
			b.acknowledge(c, at...)
			gate.Open()
			b.settle()
			r.waits()
			b.add(1)
			r.yields(3, 3)
		}},
		{"11 the caller skips all, nothing behind", "a read that waits goes on waiting", func(b *bed) {
			at := b.add(3)
			c := b.cursor()
			r := b.read(c, 10, managedledger.ReadOptions{Wait: true, Skip: func(p sdk.Position) bool { return !p.After(at[2]) }})
			b.settle()
			r.waits()
			b.add(1)
			r.yields(3, 3)
		}},
		{"11 the caller skips every second entry", "the others", func(b *bed) {
			b.add(5)
			b.add(4)
			c := b.cursor()
			r := b.read(c, 10, managedledger.ReadOptions{Skip: func(p sdk.Position) bool { return p.Entry%2 == 1 }})
			b.settle()
			b.these(r.entries(), []int{0, 2, 4, 5, 7})
		}},
	}
}
