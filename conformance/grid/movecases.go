package grid

import (
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

var (
	errNoMore = reason.ErrNoMoreEntries
	errFull   = scheduling.ErrFull
)

// moveCases are about cursors that are moved while they read.
func moveCases() []kase {
	return []kase{
		{"21 seek while the store reads", "the read begins again at the new place", func(b *bed) {
			at := b.add(5)
			b.add(4)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 3, plain)
			b.settle()
			b.reached(gate)
			b.seek(c, managedledger.At(at[4]))
			gate.Open()
			r.await()
			r.yields(4, 6)
			mustBe(b, "mark-delete", c.MarkDelete(), at[3])
			b.same(b.drain(c, 10), 7, 8)
		}},
		{"21 seek before the end was handed over", "the read begins again at the new place", func(b *bed) {
			at := b.add(4)
			c := b.cursor()
			r := b.read(c, 2, plain)
			handedOver := r.calls == 1 // placed inline
			b.seek(c, managedledger.At(at[3]))
			r.await()
			if handedOver {
				r.yields(0, 1)
				r = b.read(c, 2, plain)
				b.settle()
			}
			r.yields(3, 3)
		}},
		{"21 rewind while the store reads", "the read begins again at the first entry not acknowledged", func(b *bed) {
			at := b.add(5)
			c := b.cursor()
			b.same(b.readNow(c, 3, plain), 0, 2)
			b.acknowledge(c, at[0])
			b.forget()
			gate := b.holdRead()
			r := b.read(c, 10, plain)
			b.settle()
			b.reached(gate)
			c.Rewind()
			gate.Open()
			r.await()
			r.yields(1, 4)
		}},
		{"21 seek while waiting", "the read goes on at the new place", func(b *bed) {
			at := b.add(4)
			c := b.cursor()
			b.same(b.drain(c, 10), 0, 3)
			r := b.read(c, 10, waiting)
			b.settle()
			r.waits()
			b.seek(c, managedledger.At(at[2]))
			b.settle()
			r.yields(2, 3)
			mustBe(b, "waiting", c.Stats().Waiting, false)
		}},
		{"acknowledged up to behind the read position", "the next read begins behind", func(b *bed) {
			at := b.add(5)
			c := b.cursor()
			b.same(b.readNow(c, 1, plain), 0, 0)
			b.drive(func() error { return c.AcknowledgeUpTo(b.ctx, at[2]) })
			b.same(b.readNow(c, 10, plain), 3, 4)
		}},
	}
}

func (b *bed) seek(c *managedledger.Cursor, to managedledger.Start) {
	b.t.Helper()
	// Not by drive: what is queued must stay where it is.
	if err := c.Seek(b.ctx, to); err != nil {
		b.t.Fatal(err)
	}
}
