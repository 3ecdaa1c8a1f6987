package grid

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/engine/managedledger/recordpb"
	"github.com/tidemark-engine/tidemark/sdk"
)

var plain managedledger.ReadOptions
var waiting = managedledger.ReadOptions{Wait: true}

// ledgerCases are about reads that meet the end of a ledger.
func ledgerCases() []kase {
	return []kase{
		{"01 from one ledger into the next", "the tail of the one and the head of the other in one result", func(b *bed) {
			b.add(5)
			b.add(5)
			c := b.cursor()
			r := b.read(c, 8, plain)
			b.settle()
			r.yields(0, 7)
			b.same(b.drain(c, 8), 8, 9)
		}},
		{"02 the next ledger is open and empty", "the tail of the closed one only", func(b *bed) {
			b.add(5)
			mustBe(b, "number of ledgers", len(b.log.Stats().Ledgers), 2)
			c := b.cursor()
			r := b.read(c, 8, plain)
			b.settle()
			r.yields(0, 4)
			b.same(b.drain(c, 8), 1, 0)
			b.add(1)
			b.same(b.drain(c, 8), 5, 5)
		}},
		{"03 just behind the end of a closed ledger", "goes on in the next one", func(b *bed) {
			at := b.add(5)
			b.add(2)
			end := at[4].Next()
			var got managedledger.ReadResult
			b.drive(func() (err error) {
				got, err = b.log.Read(b.ctx, end, managedledger.Max{Entries: 1})
				return err
			})
			b.same(numbers(got.Entries), 5, 5)
			mustBe(b, "gone", got.Gone, false)
			c := b.cursor()
			b.same(b.readNow(c, 5, plain), 0, 4)
			b.same(b.readNow(c, 5, plain), 5, 6)
		}},
		{"04 in a trimmed ledger", "begins at the next one that exists, and says what is gone", func(b *bed) {
			at := b.add(5)
			b.add(2)
			c := b.cursorFrom(managedledger.CursorOptions{From: managedledger.At(at[2])})
			b.truncate()
			b.add(3)
			r := b.read(c, 10, plain)
			b.settle()
			r.yields(7, 9)
			mustBe(b, "gone", r.result.Gone, true)
			mustBe(b, "place where it begins", r.result.GoneUntil, r.result.Entries[0].Position)
			r = b.read(c, 10, plain)
			b.settle()
			mustBe(b, "gone, said again", r.result.Gone, false)
			c.Rewind()
			r = b.read(c, 10, plain)
			b.settle()
			mustBe(b, "gone, said after a rewind", r.result.Gone, false)
		}},
		{"05 several empty ledgers", "skipped without opening them", func(b *bed) { emptyLedgers(b) }},
		{"22 roll between two ledger reads", "no duplicate and no gap", func(b *bed) {
			b.add(5)
			b.add(3)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 20, plain)
			b.settle()
			b.reached(gate)
			b.roll()
			b.add(2)
			gate.Open()
			b.settle()
			got := append(r.entries(), b.drain(c, 20)...)
			b.same(got, 0, 9)
		}},
		{"25 the last ledger is empty after recovery", "the LAC is the last entry of the last ledger with entries", func(b *bed) {
			at := b.add(5) // and an empty ledger is open
			former := b.log
			b.open()
			mustBe(b, "LAC", b.log.LastConfirmed(), at[4])
			c := b.cursor()
			mustBe(b, "has more", c.HasMore(), true)
			b.same(b.drain(c, 3), 0, 4)
			mustBe(b, "has more", c.HasMore(), false)
			b.add(1)
			b.same(b.drain(c, 3), 5, 5)
			b.leave(former)
		}},
	}
}

// truncate removes all that is confirmed.
func (b *bed) truncate() {
	b.t.Helper()
	b.drive(func() error { return b.log.Truncate(b.ctx) })
}

// emptyLedgers makes a log whose record has empty ledgers in it, which this
// version does not write any more.
func emptyLedgers(b *bed) {
	b.add(2)
	b.drive(func() error { return b.log.Close(b.ctx) })
	key := recordKey(b)
	kept, err := b.metadata.Inner.Get(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	var record recordpb.ManagedLedger
	if err := proto.Unmarshal(kept.Value, &record); err != nil {
		b.t.Fatal(err)
	}
	for range 3 {
		w, err := b.ledgers.Inner.Create(b.ctx, sdk.CreateOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		if _, err := w.Seal(b.ctx); err != nil {
			b.t.Fatal(err)
		}
		record.Ledgers = append(record.Ledgers, &recordpb.Ledger{Id: int64(w.ID()), ClosedAt: 1})
		_ = w.Close()
	}
	value, err := proto.Marshal(&record)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.metadata.Inner.Put(b.ctx, key, value, kept.Version); err != nil {
		b.t.Fatal(err)
	}
	b.open()
	b.add(2)
	opened := b.ledgers.Calls(scripted.Open)
	b.same(b.drain(b.cursor(), 10), 0, 3)
	if n := b.ledgers.Calls(scripted.Open) - opened; n > 1 {
		b.t.Errorf("%d ledgers were opened, want one at most", n)
	}
}

func recordKey(b *bed) string {
	found, err := b.metadata.Inner.List(b.ctx, "topic/", "", 100000)
	if err != nil {
		b.t.Fatal(err)
	}
	names, err := managedledger.Names(b.ctx, b.metadata.Inner, "", 100000)
	if err != nil || len(names) != len(found) {
		b.t.Fatal(fmt.Errorf("%d names of %d records: %w", len(names), len(found), err))
	}
	for i, name := range names {
		if name == b.name {
			return found[i].Key
		}
	}
	b.t.Fatal("no record")
	return ""
}
