package grid

import (
	"errors"
	"fmt"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
)

var errDisk = errors.New("scripted: disk trouble")

// failureCases are about stores that fail, and logs that end.
func failureCases() []kase {
	return []kase{
		{"15 the second ledger read fails", "success with what there is; the next read reports it", func(b *bed) {
			b.add(5)
			b.add(3)
			b.forget()
			c := b.cursor()
			b.ledgers.Next(scripted.Read, scripted.Step{}, scripted.Step{Before: errDisk}, scripted.Step{Before: errDisk})
			b.same(b.readNow(c, 10, plain), 0, 4)
			r := b.read(c, 10, plain)
			b.settle()
			r.fails(errDisk)
			b.same(b.drain(c, 10), 5, 7)
		}},
		{"16 the first ledger read fails", "a failure, once, where it happened", func(b *bed) {
			b.add(3)
			b.forget()
			c := b.cursor()
			gate := scripted.NewGate()
			b.ledgers.Next(scripted.Read, scripted.Step{Before: errDisk, HoldReply: gate})
			r := b.read(c, 10, plain)
			b.settle()
			b.reached(gate)
			gate.Open()
			r.fails(errDisk) // before anything else was run
			b.settle()
			b.same(b.drain(c, 10), 0, 2)
		}},
		{"16 the store answers nothing", "a failure after a few tries, never an endless loop", func(b *bed) {
			b.add(3)
			b.forget()
			c := b.cursor()
			b.ledgers.Always(scripted.Read, &scripted.Step{Cut: true})
			r := b.read(c, 10, plain)
			b.settle()
			r.fails(sdk.ErrUnavailable)
			b.ledgers.Always(scripted.Read, nil)
			b.same(b.drain(c, 10), 0, 2)
		}},
		{"16 the store answers one entry at a time", "all of them", func(b *bed) {
			b.add(5)
			b.add(3)
			b.forget()
			b.ledgers.Always(scripted.Read, &scripted.Step{Cut: true, Keep: 1})
			b.same(b.readNow(b.cursor(), 10, plain), 0, 7)
		}},
		{"17 stored but not confirmed", "not visible", func(b *bed) {
			b.add(2)
			gate := scripted.NewGate()
			b.ledgers.Next(scripted.Append, scripted.Step{HoldReply: gate})
			confirmed := false
			if err := b.log.AddAsync(b.payloads(1), func(_ managedledger.AddResult, err error) { confirmed = err == nil }); err != nil {
				b.t.Fatal(err)
			}
			b.settle()
			c := b.cursor()
			b.same(b.drain(c, 10), 0, 1)
			r := b.read(c, 10, waiting)
			b.settle()
			r.waits()
			stored := make(chan struct{})
			go func() { // ends when the store has answered
				<-gate.Reached()
				gate.Open()
				close(stored)
			}()
			b.drive(func() error { <-stored; return nil })
			mustBe(b, "confirmed", confirmed, true)
			r.yields(2, 2)
		}},
		{"18 a handle that knows too little", "opened again", func(b *bed) {
			b.add(5)
			b.forget()
			c := b.cursor()
			old := fmt.Errorf("scripted: old handle: %w", sdk.ErrEntryNotFound)
			b.ledgers.Next(scripted.Read, scripted.Step{Before: old})
			opened := b.ledgers.Calls(scripted.Open)
			b.same(b.readNow(c, 10, plain), 0, 4)
			mustBe(b, "opened again", b.ledgers.Calls(scripted.Open)-opened, 1)
		}},
		{"18 a handle that cannot be opened at first", "opened by the next read", func(b *bed) {
			b.add(5)
			b.forget()
			former := b.log
			b.open()
			c := b.cursor()
			b.ledgers.Next(scripted.Open, scripted.Step{Before: errDisk})
			r := b.read(c, 10, plain)
			b.settle()
			r.fails(errDisk)
			b.same(b.drain(c, 10), 0, 4)
			b.leave(former)
		}},
		{"19 fenced while a read with entries is in flight", "the entries it has", func(b *bed) {
			b.add(5)
			b.add(3)
			b.forget()
			c := b.cursor()
			gate := scripted.NewGate()
			b.ledgers.Next(scripted.Read, scripted.Step{}, scripted.Step{HoldReply: gate})
			r := b.read(c, 10, plain)
			b.settle()
			b.reached(gate)
			b.loseLog()
			gate.Open()
			r.await()
			r.yields(0, 4)
			if err := c.ReadAsync(managedledger.Max{Entries: 1}, plain, func(_ managedledger.ReadResult, err error) { r.err = err }); err != nil {
				r.err = err
			}
			b.settle()
			r.fails(managedledger.ErrFenced)
		}},
		{"19 fenced while a read without entries is in flight", "a failure that says so", func(b *bed) {
			b.add(3)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 10, plain)
			b.settle()
			b.reached(gate)
			b.loseLog()
			gate.Open()
			r.await()
			r.fails(managedledger.ErrFenced)
		}},
		{"20 closed while waiting", "a failure that says so, and nobody waits any more", func(b *bed) {
			c := b.cursor()
			r := b.read(c, 10, waiting)
			b.settle()
			r.waits()
			mustBe(b, "waiting", b.log.Stats().WaitingReaders, 1)
			b.drive(func() error { return c.Close(b.ctx) })
			r.fails(sdk.ErrClosed)
			mustBe(b, "waiting", b.log.Stats().WaitingReaders, 0)
			b.add(1)
			b.same(b.drain(b.cursor(), 10), 0, 0)
		}},
		{"20 the log closed while waiting", "a failure that says so", func(b *bed) {
			c := b.cursor()
			r := b.read(c, 10, waiting)
			b.settle()
			b.drive(func() error { return b.log.Close(b.ctx) })
			r.fails(sdk.ErrClosed)
		}},
		{"20 closed while the store reads", "a failure that says so; the late answer changes nothing", func(b *bed) {
			b.add(3)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 10, plain)
			b.settle()
			b.reached(gate)
			b.drive(func() error { return c.Close(b.ctx) })
			r.fails(sdk.ErrClosed)
			gate.Open()
			b.settle()
			b.same(b.drain(b.cursor(), 10), 0, 2)
		}},
		{"24 terminated while waiting", "no more entries, once", func(b *bed) {
			b.add(2)
			c := b.cursor()
			b.same(b.drain(c, 10), 0, 1)
			r := b.read(c, 10, waiting)
			b.settle()
			r.waits()
			b.drive(func() error {
				_, err := b.log.Terminate(b.ctx)
				return err
			})
			r.fails(errNoMore)
			r = b.read(c, 10, waiting)
			b.settle()
			r.fails(errNoMore)
			c.Rewind()
			r = b.read(c, 10, waiting)
			b.settle()
			r.yields(0, 1)
		}},
		{"the executor is full", "one callback, nothing lost", func(b *bed) {
			b.add(5)
			b.add(3)
			b.forget()
			c := b.cursor()
			gate := b.holdRead()
			r := b.read(c, 10, plain)
			b.settle()
			b.reached(gate)
			b.steps.Refuse(errFull)
			gate.Open() // what has no place on the executor runs elsewhere
			select {
			case <-r.ended:
			case <-b.ctx.Done():
				b.t.Fatal(b.ctx.Err())
			}
			b.steps.Refuse(nil)
			got := r.entries()
			b.same(append(got, b.drain(c, 10)...), 0, 7)
		}},
	}
}

// loseLog has another owner take the log, and lets this one notice.
func (b *bed) loseLog() {
	b.t.Helper()
	former := b.log
	b.open()
	b.drive(func() error {
		if _, err := former.Add(b.ctx, []byte("stray")); !errors.Is(err, managedledger.ErrFenced) {
			return fmt.Errorf("add by the former owner: %w", err)
		}
		return nil
	})
	b.t.Cleanup(func() { b.leave(former) })
}
