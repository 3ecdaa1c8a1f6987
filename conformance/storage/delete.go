package storage

import (
	"slices"

	"github.com/tidemark-engine/tidemark/sdk"
)

func deleteClauses() []Clause {
	return []Clause{
		{"delete/gone", OfLedgers, "Delete removes the ledger and its entries; deleting what is not there is ErrLedgerNotFound.", checkDeleted},
		{"delete/writer", OfLedgers, "A writer of a deleted ledger gets ErrFenced or ErrLedgerNotFound from then on.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(3))
			p.Must("Delete", p.Ledgers().Delete(p.ctx, w.ID()))
			p.Wants("Append after Delete", p.add(w, 3, []byte("late")).err, sdk.ErrFenced, sdk.ErrLedgerNotFound)
			_, err := w.Seal(p.ctx)
			p.Wants("Seal after Delete", err, sdk.ErrFenced, sdk.ErrLedgerNotFound)
			p.Must("Close", w.Close())
		}},
		{"delete/readers", OfLedgers, "Reads of a deleted ledger end with their entries or with ErrLedgerNotFound.", checkDeleteUnderReaders},
		{"delete/others-stay", OfLedgers, "Delete touches no other ledger.", func(p *Probe) {
			before, w, behind := p.create(), p.create(), p.create()
			for _, each := range []sdk.LedgerWriter{before, w, behind} {
				p.fill(each, numbered(20))
			}
			p.Must("Delete", p.Ledgers().Delete(p.ctx, w.ID()))
			p.wantEntries(before, numbered(20))
			p.wantEntries(behind, numbered(20))
			p.Must("Append", p.add(behind, 20, []byte("more")).err)
		}},
		{"delete/context", OfLedgers, "Delete ends early when its context does.", func(p *Probe) {
			p.cancelled("Delete", p.Ledgers().Delete(ended(), p.create().ID()))
		}},
		{"list/pages", OfLedgers, "List returns ids above after, rising; fewer than limit means that there are no more.", checkPages},
		{"list/limit", OfLedgers, "A limit below 1 is ErrInvalid.", func(p *Probe) {
			_, err := p.Ledgers().List(p.ctx, -1, 0)
			p.Wants("List with limit 0", err, sdk.ErrInvalid)
		}},
		{"list/context", OfLedgers, "List ends early when its context does; an error is never a short list.", func(p *Probe) {
			p.create()
			ids, err := p.Ledgers().List(ended(), -1, 10)
			p.cancelled("List", err)
			if ids != nil {
				p.Errorf("List returns %v besides the error", ids)
			}
		}},
	}
}

func checkDeleted(p *Probe) {
	w := p.create()
	p.fill(w, numbered(20))
	p.wantSealed(w, 19)
	p.Must("Delete", p.Ledgers().Delete(p.ctx, w.ID()))
	gone := func(when string) {
		for _, mode := range []sdk.OpenMode{sdk.OpenRead, sdk.OpenRecover} {
			_, err := p.Ledgers().Open(p.ctx, w.ID(), mode)
			p.Wants("Open "+when, err, sdk.ErrLedgerNotFound)
		}
		p.Wants("Delete "+when, p.Ledgers().Delete(p.ctx, w.ID()), sdk.ErrLedgerNotFound)
		ids, err := p.Ledgers().List(p.ctx, -1, 1000)
		p.Must("List", err)
		if slices.Contains(ids, w.ID()) {
			p.Errorf("List %s holds the ledger", when)
		}
	}
	gone("after Delete")
	p.Wants("Delete of nobody", p.Ledgers().Delete(p.ctx, nobody), sdk.ErrLedgerNotFound)
	if p.Plugin().Info().Durable {
		p.Reopen()
		gone("after a restart")
	}
}

func checkDeleteUnderReaders(p *Probe) {
	w := p.create()
	entries := numbered(200)
	p.fill(w, entries)
	p.wantSealed(w, 199)
	r := p.openLedger(w.ID(), sdk.OpenRead)
	const readers = 4
	ended := make(chan struct{}, readers)
	for range readers {
		go func() {
			defer func() { ended <- struct{}{} }()
			for p.ctx.Err() == nil {
				got := p.read(p.ctx, r, sdk.Range{Last: 199})
				if got.err != nil {
					p.Wants("Read during Delete", got.err, sdk.ErrLedgerNotFound)
					return
				}
				p.same(0, got.payloads, entries)
			}
		}()
	}
	p.Must("Delete", p.Ledgers().Delete(p.ctx, w.ID()))
	for range readers {
		<-ended
	}
	p.Must("Close", r.Close())
}

func checkPages(p *Probe) {
	var want []sdk.LedgerID
	for range 10 {
		want = append(want, p.create().ID())
	}
	for _, limit := range []int{1, 3, 5, 10, 11} {
		var got []sdk.LedgerID
		after := sdk.LedgerID(-1)
		for {
			page, err := p.Ledgers().List(p.ctx, after, limit)
			p.Must("List", err)
			if len(page) > limit {
				p.Fatalf("List with limit %d returns %d ids", limit, len(page))
			}
			got = append(got, page...)
			if len(page) < limit {
				break
			}
			after = page[len(page)-1]
		}
		if !slices.Equal(got, want) {
			p.Errorf("pages of %d: %v, want %v", limit, got, want)
		}
	}
}
