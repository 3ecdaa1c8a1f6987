package storage

import (
	"context"
	"reflect"

	"github.com/tidemark-engine/tidemark/sdk"
)

func pluginClauses() []Clause {
	return []Clause{
		{"info/constant", OfPlugin, "Info always gives the same answer, and names the plugin.", func(p *Probe) {
			first := p.Plugin().Info()
			if first.Name == "" || first.Version == "" {
				p.Errorf("Info has no name or version: %+v", first)
			}
			if second := p.Plugin().Info(); !reflect.DeepEqual(first, second) {
				p.Errorf("Info was %+v and is now %+v", first, second)
			}
		}},
		{"health/serving", OfPlugin, "Health is nil while the plugin can serve.", func(p *Probe) {
			p.Must("Health", p.Plugin().Health(p.ctx))
		}},
		{"close/twice", OfPlugin, "Closing again gives the same answer without doing it twice.", func(p *Probe) {
			first, second := p.Plugin().Close(p.ctx), p.Plugin().Close(p.ctx)
			if (first == nil) != (second == nil) {
				p.Errorf("first %v, then %v", first, second)
			}
		}},
		{"close/health", OfPlugin, "Health reports what is wrong after Close.", func(p *Probe) {
			p.Must("Close", p.Plugin().Close(p.ctx))
			p.Wants("Health after Close", p.Plugin().Health(p.ctx), sdk.ErrClosed)
		}},
		{"close/ledgers", OfLedgers, "After Close every method of the ledger store fails with ErrClosed.", checkClosedLedgers},
		{"close/handles", OfLedgers, "After Close adds, reads and seals through open handles fail with ErrClosed.", checkClosedHandles},
		{"close/in-flight", OfLedgers, "Close ends all that is in flight with ErrClosed or its result.", checkCloseInFlight},
		{"close/metadata", OfMetadata, "After Close every method of the metadata store fails with ErrClosed.", checkClosedMetadata},
	}
}

func checkClosedLedgers(p *Probe) {
	id := p.create().ID()
	p.Must("Close", p.Plugin().Close(p.ctx))
	_, err := p.Ledgers().Create(p.ctx, sdk.CreateOptions{})
	p.Wants("Create", err, sdk.ErrClosed)
	_, err = p.Ledgers().Open(p.ctx, id, sdk.OpenRead)
	p.Wants("Open", err, sdk.ErrClosed)
	_, err = p.Ledgers().Open(p.ctx, id, sdk.OpenRecover)
	p.Wants("Open with recovery", err, sdk.ErrClosed)
	p.Wants("Delete", p.Ledgers().Delete(p.ctx, id), sdk.ErrClosed)
	_, err = p.Ledgers().List(p.ctx, -1, 10)
	p.Wants("List", err, sdk.ErrClosed)
}

func checkClosedHandles(p *Probe) {
	w := p.create()
	p.fill(w, numbered(3))
	r := p.openLedger(w.ID(), sdk.OpenRead)
	p.Must("Close", p.Plugin().Close(p.ctx))
	p.Wants("Append", p.add(w, 3, []byte("late")).err, sdk.ErrClosed)
	_, err := w.Seal(p.ctx)
	p.Wants("Seal", err, sdk.ErrClosed)
	p.Wants("Read by the writer", p.read(p.ctx, w, sdk.Range{}).err, sdk.ErrClosed)
	p.Wants("Read by a reader", p.read(p.ctx, r, sdk.Range{}).err, sdk.ErrClosed)
	p.Must("Close of a handle", r.Close())
	p.Must("Close of the writer", w.Close())
}

func checkCloseInFlight(p *Probe) {
	w := p.create()
	const batches = 200
	a := p.expect(batches)
	closed := make(chan error, 1)
	for i := range batches {
		if i == batches/2 {
			go func() { closed <- p.Plugin().Close(p.ctx) }()
		}
		a.hand(w, sdk.EntryID(i), []byte("in flight"))
	}
	a.wait()
	p.Must("Close", <-closed)
	failed := false
	for i := range batches {
		err := a.of(sdk.EntryID(i)).err
		if err != nil {
			p.Wants("Append during Close", err, sdk.ErrClosed, sdk.ErrUnknownOutcome)
		}
		if failed && err == nil {
			p.Errorf("batch %d succeeds after one before it failed", i)
		}
		failed = failed || err != nil
	}
}

func checkClosedMetadata(p *Probe) {
	m := p.Metadata()
	p.Must("Close", p.Plugin().Close(p.ctx))
	_, err := m.Get(p.ctx, "key")
	p.Wants("Get", err, sdk.ErrClosed)
	_, err = m.List(p.ctx, "", "", 1)
	p.Wants("List", err, sdk.ErrClosed)
	_, err = m.Put(p.ctx, "key", nil, sdk.AnyVersion)
	p.Wants("Put", err, sdk.ErrClosed)
	p.Wants("Delete", m.Delete(p.ctx, "key", sdk.AnyVersion), sdk.ErrClosed)
	err = m.Watch(p.ctx, "", func(string) {})
	p.Wants("Watch", err, sdk.ErrClosed, sdk.ErrUnsupported)
}

// cancelled checks that a method ends early when its context has ended.
func (p *Probe) cancelled(doing string, err error) {
	p.Wants(doing+" with a context that has ended", err, context.Canceled)
}
