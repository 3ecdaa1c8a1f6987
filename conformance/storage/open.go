package storage

import (
	"fmt"

	"github.com/tidemark-engine/tidemark/sdk"
)

// nobody is an id that no ledger has.
const nobody = sdk.LedgerID(1) << 40

func openClauses() []Clause {
	return []Clause{
		{"open/not-found", OfLedgers, "Open of a ledger that is not there is ErrLedgerNotFound.", func(p *Probe) {
			for _, mode := range []sdk.OpenMode{sdk.OpenRead, sdk.OpenRecover} {
				_, err := p.Ledgers().Open(p.ctx, nobody, mode)
				p.Wants("Open", err, sdk.ErrLedgerNotFound)
			}
		}},
		{"open/read-changes-nothing", OfLedgers, "With OpenRead nothing is changed, and an open ledger shows what was acknowledged when the handle asks.", checkOpenRead},
		{"open/recover-closes", OfLedgers, "With OpenRecover every acknowledged entry is there and the ledger is closed at its last entry.", func(p *Probe) {
			for _, count := range []int{0, 1, 20} {
				w := p.create()
				p.fill(w, numbered(count))
				r := p.openLedger(w.ID(), sdk.OpenRecover)
				want := sdk.LedgerState{LastConfirmed: sdk.EntryID(count - 1), Bytes: bytesOf(numbered(count)), Closed: true}
				if got := r.State(); got != want {
					p.Errorf("state %+v, want %+v", got, want)
				}
				p.wantEntries(r, numbered(count))
				p.wantEnd(r, sdk.EntryID(count-1))
			}
		}},
		{"open/recover-after-close", OfLedgers, "Closing a writer's handle that was not sealed leaves the ledger open, for recovery; what was handed over before is there if it was acknowledged.", checkRecoverAfterClose},
		{"open/recover-repeated", OfLedgers, "Recovery may be repeated and may run at the same time from several callers; all see the same last entry.", checkRecoverTogether},
		{"open/context", OfLedgers, "Open ends early when its context does, and changes nothing.", func(p *Probe) {
			w := p.create()
			for _, mode := range []sdk.OpenMode{sdk.OpenRead, sdk.OpenRecover} {
				_, err := p.Ledgers().Open(ended(), w.ID(), mode)
				p.cancelled("Open", err)
			}
			p.fill(w, numbered(1))
		}},
	}
}

func checkOpenRead(p *Probe) {
	w := p.create()
	r := p.openLedger(w.ID(), sdk.OpenRead)
	for i := range 10 {
		p.Must("Append beside a reader", p.add(w, sdk.EntryID(i), []byte("x")).err)
		want := sdk.LedgerState{LastConfirmed: sdk.EntryID(i), Bytes: int64(i + 1)}
		if got := r.State(); got != want {
			p.Fatalf("the reader's state is %+v, want %+v", got, want)
		}
	}
	p.Must("Close of the reader", r.Close())
	p.wantSealed(w, 9)
}

func checkRecoverAfterClose(p *Probe) {
	const batches = 100
	w := p.create()
	a := p.expect(batches)
	for i := range batches {
		a.hand(w, sdk.EntryID(i), []byte("in flight"))
	}
	p.Must("Close", w.Close())
	r := p.openLedger(w.ID(), sdk.OpenRecover)
	a.wait()
	p.wantHistory(a, batches, r)
}

// wantHistory checks that what a recovered ledger holds is what its writer was
// told: all that was acknowledged, nothing that surely failed.
func (p *Probe) wantHistory(a *appended, batches int, r sdk.LedgerReader) {
	state := r.State()
	if !state.Closed {
		p.Errorf("the ledger is not closed after recovery")
	}
	for i := range batches {
		id := sdk.EntryID(i)
		switch err := a.of(id).err; {
		case err == nil && id > state.LastConfirmed:
			p.Fatalf("entry %d was acknowledged, but the recovered ledger ends at %d", i, state.LastConfirmed)
		case err != nil && id <= state.LastConfirmed:
			p.Wants(fmt.Sprintf("entry %d is in the recovered ledger, which ends at %d", i, state.LastConfirmed), err, sdk.ErrUnknownOutcome)
		}
	}
	p.wantEnd(r, state.LastConfirmed)
}

func checkRecoverTogether(p *Probe) {
	const callers = 8
	w := p.create()
	p.fill(w, numbered(30))
	answers := make(chan sdk.LedgerState, callers)
	for range callers {
		go func() {
			r, err := p.Ledgers().Open(p.ctx, w.ID(), sdk.OpenRecover)
			if err != nil {
				p.Errorf("Open with recovery: %v", err)
				answers <- sdk.LedgerState{}
				return
			}
			answers <- r.State()
		}()
	}
	for range callers {
		if got := <-answers; got.LastConfirmed != 29 || !got.Closed {
			p.Errorf("recovery sees %+v, want it closed at 29", got)
		}
	}
	if got := p.openLedger(w.ID(), sdk.OpenRecover).State(); got.LastConfirmed != 29 || !got.Closed {
		p.Errorf("recovery once more sees %+v, want it closed at 29", got)
	}
}

func fencingClauses() []Clause {
	return []Clause{
		{"fence/later-adds", OfLedgers, "After recovery every add by the earlier writer fails with ErrFenced and never becomes readable.", func(p *Probe) {
			w := p.create()
			p.fill(w, numbered(3))
			r := p.openLedger(w.ID(), sdk.OpenRecover)
			p.Wants("Append after a recovery", p.add(w, 3, []byte("late")).err, sdk.ErrFenced)
			p.wantEnd(r, 2)
			p.wantEnd(p.openLedger(w.ID(), sdk.OpenRead), 2)
		}},
		{"fence/adds-in-flight", OfLedgers, "Every add that was not acknowledged before Open returns fails with ErrFenced; every entry that was acknowledged is there.", checkFenceInFlight},
		{"fence/new-ledger", OfLedgers, "Fencing one ledger leaves the others alone.", func(p *Probe) {
			fenced, other := p.create(), p.create()
			p.openLedger(fenced.ID(), sdk.OpenRecover)
			p.fill(other, numbered(3))
			p.wantSealed(other, 2)
		}},
	}
}

func checkFenceInFlight(p *Probe) {
	const rounds, batches = 20, 200
	for round := range rounds {
		w := p.create()
		a := p.expect(batches)
		recovered := make(chan sdk.LedgerReader, 1)
		for i := range batches {
			if i == round*batches/rounds {
				go func() {
					r, err := p.Ledgers().Open(p.ctx, w.ID(), sdk.OpenRecover)
					if err != nil {
						p.Errorf("Open with recovery: %v", err)
					}
					recovered <- r
				}()
			}
			a.hand(w, sdk.EntryID(i), []byte("in flight"))
		}
		r := <-recovered
		if r == nil {
			return
		}
		a.wait()
		for i := range batches {
			if err := a.of(sdk.EntryID(i)).err; err != nil {
				p.Wants(fmt.Sprintf("batch %d", i), err, sdk.ErrFenced)
			}
		}
		p.wantHistory(a, batches, r)
		p.Must("Close", r.Close())
		p.Must("Close of the writer", w.Close())
	}
}
