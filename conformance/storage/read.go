package storage

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

func readClauses() []Clause {
	return []Clause{
		{"read/ranges", OfLedgers, "A read gets the payloads of its range in order and without a gap.", checkRanges},
		{"read/once", OfLedgers, "A read is answered exactly once, with entries or with an error.", checkAnsweredOnce},
		{"read/max-bytes", OfLedgers, "MaxBytes cuts the answer to a run from the start of the range, at least one entry.", checkMaxBytes},
		{"read/beyond", OfLedgers, "A range that reaches beyond the last entry is ErrEntryNotFound.", func(p *Probe) {
			w := p.create()
			p.Wants("Read of an empty ledger", p.read(p.ctx, w, sdk.Range{}).err, sdk.ErrEntryNotFound)
			p.fill(w, numbered(10))
			for _, r := range []sdk.Range{{First: 9, Last: 10}, {First: 10, Last: 12}, {First: 20, Last: 21}, {First: 0, Last: 1 << 40}} {
				p.Wants(fmt.Sprintf("Read %+v of 10 entries", r), p.read(p.ctx, w, r).err, sdk.ErrEntryNotFound)
			}
			p.wantSealed(w, 9)
			p.Wants("Read beyond a closed ledger", p.read(p.ctx, w, sdk.Range{First: 10, Last: 10}).err, sdk.ErrEntryNotFound)
		}},
		{"read/invalid", OfLedgers, "A range whose end is before its start, or that starts before 0, is ErrInvalid.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(10))
			for _, r := range []sdk.Range{{First: 5, Last: 4}, {First: -1, Last: 4}, {First: -1, Last: -1}, {First: 0, Last: 1, MaxBytes: -1}} {
				p.Wants(fmt.Sprintf("Read %+v", r), p.read(p.ctx, w, r).err, sdk.ErrInvalid)
			}
		}},
		{"read/context", OfLedgers, "When the context ends first, a read gets its error.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(10))
			p.Wants("Read", p.read(ended(), w, sdk.Range{Last: 9}).err, context.Canceled)
		}},
		{"read/list-is-the-readers", OfLedgers, "The payloads belong to whoever gets them.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(10))
			got := p.read(p.ctx, w, sdk.Range{Last: 9})
			p.Must("Read", got.err)
			kept := append([][]byte{}, got.payloads...)
			clear(got.payloads)
			p.Must("Append", p.add(w, 10, []byte("more")).err)
			p.wantEntries(w, append(numbered(10), []byte("more")))
			p.same(0, kept, numbered(10))
			_ = append(kept[0], "beyond its end"...)
			p.wantEntries(w, append(numbered(10), []byte("more")))
		}},
		{"read/beside-the-writer", OfLedgers, "Readers see what is acknowledged while the writer goes on; LastConfirmed and Bytes never go down.", checkReadersBesideWriter},
		{"read/not-acknowledged", OfLedgers, "Entries that were handed over and not acknowledged count as not there.", checkNotAcknowledged},
	}
}

func checkRanges(p *Probe) {
	random := rand.New(rand.NewPCG(5, 6))
	entries := mixed(random, 400, 20<<10)
	w := p.create()
	p.fill(w, entries)
	r := p.openLedger(w.ID(), sdk.OpenRead)
	for range 300 {
		first := random.IntN(len(entries))
		last := min(first+random.IntN(60), len(entries)-1)
		got := p.read(p.ctx, r, sdk.Range{First: sdk.EntryID(first), Last: sdk.EntryID(last)})
		p.Must(fmt.Sprintf("Read of %d to %d", first, last), got.err)
		p.same(sdk.EntryID(first), got.payloads, entries[first:last+1])
	}
}

// checkAnsweredOnce leaves the finding to read; closing the handle and reading
// through another one gives a second answer time to come.
func checkAnsweredOnce(p *Probe) {
	w := p.create()
	p.fill(w, numbered(10))
	r := p.openLedger(w.ID(), sdk.OpenRead)
	for range 20 {
		p.Must("Read", p.read(p.ctx, r, sdk.Range{Last: 9}).err)
		p.Wants("Read beyond the end", p.read(p.ctx, r, sdk.Range{Last: 10}).err, sdk.ErrEntryNotFound)
		p.Wants("Read with a context that has ended", p.read(ended(), r, sdk.Range{Last: 9}).err, context.Canceled)
	}
	p.Must("Close", r.Close())
	p.wantEntries(w, numbered(10))
}

func checkMaxBytes(p *Probe) {
	random := rand.New(rand.NewPCG(7, 8))
	entries := mixed(random, 300, 5<<10)
	w := p.create()
	p.fill(w, entries)
	for range 200 {
		first := random.IntN(len(entries))
		want := sdk.Range{First: sdk.EntryID(first), Last: sdk.EntryID(len(entries) - 1), MaxBytes: 1 + random.IntN(8<<10)}
		got := p.read(p.ctx, w, want)
		p.Must(fmt.Sprintf("Read %+v", want), got.err)
		if count := len(got.payloads); count == 0 || count > 1 && bytesOf(got.payloads) > int64(want.MaxBytes) {
			p.Fatalf("Read %+v: %d entries with %d bytes", want, count, bytesOf(got.payloads))
		}
		p.same(want.First, got.payloads, entries[first:first+len(got.payloads)])
	}
}

func checkReadersBesideWriter(p *Probe) {
	const entries, readers = 2000, 3
	w := p.create()
	stop := make(chan struct{})
	ended := make(chan struct{}, readers)
	for range readers {
		r := p.openLedger(w.ID(), sdk.OpenRead)
		go func() {
			defer func() { ended <- struct{}{} }()
			p.follow(r, stop)
		}()
	}
	p.fill(w, numbered(entries))
	close(stop)
	for range readers {
		<-ended
	}
}

// follow reads what is new again and again, until stop.
func (p *Probe) follow(r sdk.LedgerReader, stop <-chan struct{}) {
	all := numbered(2000)
	before := sdk.LedgerState{LastConfirmed: sdk.NoEntry}
	for {
		select {
		case <-stop:
			return
		default:
		}
		now := r.State()
		if now.LastConfirmed < before.LastConfirmed || now.Bytes < before.Bytes {
			p.Errorf("the state went from %+v to %+v", before, now)
			return
		}
		if first, last := max(before.LastConfirmed, now.LastConfirmed-20, 0), now.LastConfirmed; last >= first {
			got := p.read(p.ctx, r, sdk.Range{First: first, Last: last})
			if got.err != nil {
				p.Errorf("Read of %d to %d, the last confirmed: %v", first, last, got.err)
				return
			}
			p.same(first, got.payloads, all[first:last+1])
		}
		before = now
	}
}

func checkNotAcknowledged(p *Probe) {
	const entries = 500
	w := p.create()
	a := p.expect(entries)
	for i := range entries {
		a.hand(w, sdk.EntryID(i), []byte("x"))
		want := sdk.Range{First: sdk.EntryID(i), Last: sdk.EntryID(i)}
		got := p.read(p.ctx, w, want)
		if state := w.State(); got.err == nil && state.LastConfirmed < sdk.EntryID(i) {
			p.Fatalf("entry %d was read, but the last confirmed is %d", i, state.LastConfirmed)
		}
		if got.err != nil {
			p.Wants("Read of an entry handed over", got.err, sdk.ErrEntryNotFound)
		}
	}
	a.wait()
}

func handleClauses() []Clause {
	return []Clause{
		{"handle/id", OfLedgers, "ID returns the ledger's id.", func(p *Probe) {
			w := p.create()
			if r := p.openLedger(w.ID(), sdk.OpenRead); r.ID() != w.ID() {
				p.Errorf("a reader of ledger %d says %d", w.ID(), r.ID())
			}
		}},
		{"handle/close", OfLedgers, "Calls after Close of a handle fail with ErrClosed; closing twice is fine; other handles go on.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(3))
			r := p.openLedger(w.ID(), sdk.OpenRead)
			p.Must("Close", r.Close())
			p.Must("Close again", r.Close())
			p.Wants("Read after Close", p.read(p.ctx, r, sdk.Range{}).err, sdk.ErrClosed)
			p.wantEntries(w, numbered(3))
			p.Must("Close of the writer", w.Close())
			p.Must("Close of the writer again", w.Close())
			p.Wants("Read after Close", p.read(p.ctx, w, sdk.Range{}).err, sdk.ErrClosed)
			_, err := w.Seal(p.ctx)
			p.Wants("Seal after Close", err, sdk.ErrClosed)
			p.wantEntries(p.openLedger(w.ID(), sdk.OpenRead), numbered(3))
		}},
	}
}
