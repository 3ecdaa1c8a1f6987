package storage

import (
	"github.com/tidemark-engine/tidemark/sdk"
)

func refusalClauses() []Clause {
	return []Clause{
		{"append/gap", OfLedgers, "A batch that does not follow the former one is ErrInvalid, and nothing of it becomes readable.", func(p *Probe) {
			for _, first := range []sdk.EntryID{4, 2, 0, -1} {
				w := p.create()
				p.fill(w, numbered(3))
				got := p.add(w, first, []byte("wrong"))
				p.Wants("Append with a gap", got.err, sdk.ErrInvalid)
				p.wantEntries(w, numbered(3))
				p.wantEnd(w, 2)
			}
		}},
		{"append/empty-batch", OfLedgers, "A batch without entries is ErrInvalid.", func(p *Probe) {
			p.Wants("Append of nothing", p.add(p.create(), 0).err, sdk.ErrInvalid)
		}},
		{"append/too-large", OfLedgers, "An entry of MaxEntryBytes is taken; a larger one is ErrTooLarge and nothing of its batch is written.", checkTooLarge},
		{"append/after-failure", OfLedgers, "After the first batch that fails every later one fails too and nothing of it becomes readable.", checkAfterFailure},
		{"append/failure-in-order", OfLedgers, "A batch that fails is told so after the batches before it were told their end.", checkFailureInOrder},
		{"append/after-seal", OfLedgers, "Batches after Seal fail with ErrClosed.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(2))
			_, err := w.Seal(p.ctx)
			p.Must("Seal", err)
			p.Wants("Append after Seal", p.add(w, 2, []byte("late")).err, sdk.ErrClosed)
			p.wantEnd(w, 1)
		}},
		{"append/after-handle-close", OfLedgers, "Batches after Close of the handle fail with ErrClosed.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(2))
			p.Must("Close", w.Close())
			p.Wants("Append after Close", p.add(w, 2, []byte("late")).err, sdk.ErrClosed)
		}},
	}
}

// wantEnd checks that the ledger ends at last for this handle.
func (p *Probe) wantEnd(r sdk.LedgerReader, last sdk.EntryID) {
	if got := r.State().LastConfirmed; got != last {
		p.Errorf("last confirmed is %d, want %d", got, last)
	}
	got := p.read(p.ctx, r, sdk.Range{First: last + 1, Last: last + 1})
	p.Wants("Read beyond the last entry", got.err, sdk.ErrEntryNotFound)
}

func checkTooLarge(p *Probe) {
	limit := p.Plugin().Info().MaxEntryBytes
	if limit == 0 {
		return
	}
	w := p.create()
	largest := make([]byte, limit)
	largest[0], largest[limit-1] = 'a', 'z'
	p.Must("Append of the largest entry", p.add(w, 0, largest).err)
	p.wantEntries(w, [][]byte{largest})
	got := p.add(w, 1, []byte("small"), make([]byte, limit+1))
	p.Wants("Append of a larger entry", got.err, sdk.ErrTooLarge)
	if got.last != 0 {
		p.Errorf("Done says that entries up to %d are acknowledged, want 0", got.last)
	}
	p.wantEnd(w, 0)
}

func checkAfterFailure(p *Probe) {
	w := p.create()
	p.fill(w, numbered(3))
	p.Wants("Append with a gap", p.add(w, 7, []byte("wrong")).err, sdk.ErrInvalid)
	for _, first := range []sdk.EntryID{3, 8} {
		if got := p.add(w, first, []byte("later")); got.err == nil {
			p.Errorf("the batch from %d succeeds after a failure", first)
		}
	}
	p.wantEnd(w, 2)
	r := p.openLedger(w.ID(), sdk.OpenRecover)
	p.wantEnd(r, 2)
	p.wantEntries(r, numbered(3))
}

func checkFailureInOrder(p *Probe) {
	w := p.create()
	const good = 50
	a := p.expect(good + 2)
	for i, entry := range numbered(good) {
		a.hand(w, sdk.EntryID(i), entry)
	}
	a.hand(w, good+1, []byte("wrong"))
	a.hand(w, good+2, []byte("later"))
	a.wait()
	for i, first := range a.order {
		want := sdk.EntryID(i)
		if i >= good {
			want++
		}
		if first != want {
			p.Fatalf("Done number %d is that of batch %d, want %d", i, first, want)
		}
		if failed := a.of(first).err != nil; failed != (i >= good) {
			p.Fatalf("batch %d was told %v", first, a.of(first).err)
		}
	}
}

func sealClauses() []Clause {
	return []Clause{
		{"seal/last-entry", OfLedgers, "Seal closes the ledger at its last acknowledged entry and returns that entry's id, NoEntry if there is none.", func(p *Probe) {
			for _, count := range []int{0, 1, 5} {
				w := p.create()
				p.fill(w, numbered(count))
				p.wantSealed(w, sdk.EntryID(count-1))
				want := sdk.LedgerState{LastConfirmed: sdk.EntryID(count - 1), Bytes: bytesOf(numbered(count)), Closed: true}
				if got := w.State(); got != want {
					p.Errorf("state %+v, want %+v", got, want)
				}
			}
		}},
		{"seal/waits", OfLedgers, "Seal waits until every batch that was handed over is acknowledged or failed.", checkSealWaits},
		{"seal/twice", OfLedgers, "Sealing twice, also at once, gives the same answer.", checkSealTwice},
		{"seal/goes-on-reading", OfLedgers, "After Seal the handle goes on as a reader.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(5))
			p.wantSealed(w, 4)
			p.wantEntries(w, numbered(5))
			p.wantEnd(w, 4)
		}},
		{"seal/fenced", OfLedgers, "If somebody else recovered the ledger meanwhile, Seal is ErrFenced.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(3))
			p.openLedger(w.ID(), sdk.OpenRecover)
			_, err := w.Seal(p.ctx)
			p.Wants("Seal after a recovery", err, sdk.ErrFenced)
		}},
		{"seal/for-ever", OfLedgers, "A closed ledger stays as it is; recovery does not change it.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(3))
			p.wantSealed(w, 2)
			before := w.State()
			for _, mode := range []sdk.OpenMode{sdk.OpenRead, sdk.OpenRecover} {
				if got := p.openLedger(w.ID(), mode).State(); got != before {
					p.Errorf("state %+v after Open with mode %d, want %+v", got, mode, before)
				}
			}
			p.wantSealed(w, 2)
		}},
		{"seal/context", OfLedgers, "Seal ends early when its context does; sealing again then works.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(3))
			_, err := w.Seal(ended())
			p.cancelled("Seal", err)
			p.wantSealed(w, 2)
		}},
	}
}

func (p *Probe) wantSealed(w sdk.LedgerWriter, want sdk.EntryID) {
	last, err := w.Seal(p.ctx)
	p.Must("Seal", err)
	if last != want {
		p.Errorf("Seal returns %d, want %d", last, want)
	}
}

func checkSealWaits(p *Probe) {
	const batches = 300
	w := p.create()
	a := p.expect(batches)
	for i := range batches {
		a.hand(w, sdk.EntryID(i), []byte("in flight"))
	}
	last, err := w.Seal(p.ctx)
	p.Must("Seal", err)
	a.mu.Lock()
	told := len(a.order)
	a.mu.Unlock()
	if told != batches {
		p.Errorf("Seal returned when %d of %d batches were told their end", told, batches)
	}
	if last != batches-1 {
		p.Errorf("Seal returns %d, want %d", last, batches-1)
	}
}

func checkSealTwice(p *Probe) {
	const sealers = 8
	w := p.create()
	a := p.expect(100)
	for i := range 100 {
		a.hand(w, sdk.EntryID(i), []byte("in flight"))
	}
	answers := make(chan outcome, sealers)
	for range sealers {
		go func() {
			last, err := w.Seal(p.ctx)
			answers <- outcome{last, err}
		}()
	}
	for range sealers {
		if got := <-answers; got != (outcome{last: 99}) {
			p.Errorf("Seal returns %d, %v; want 99", got.last, got.err)
		}
	}
	p.wantSealed(w, 99)
}
