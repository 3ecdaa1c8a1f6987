package storage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Probe is what a check sees: a store, and a place to say what is wrong with
// it. It is not tied to package testing. Its methods may be called from many
// goroutines, those that end the check only from the check's own.
type Probe struct {
	harness Harness
	dir     string
	ctx     context.Context
	cancel  context.CancelFunc
	store   Store

	mu    sync.Mutex // guards found
	found []string
}

func deadline(patience time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

func newProbe(h Harness, dir string) *Probe {
	p := &Probe{harness: h, dir: dir}
	p.ctx, p.cancel = deadline(h.patience())
	return p
}

// run opens the store, runs check and closes the store.
func (p *Probe) run(check func(*Probe)) {
	p.open()
	if p.store.Plugin == nil {
		return
	}
	defer func() {
		if err := p.store.Plugin.Close(p.ctx); err != nil {
			p.Errorf("Close of the store: %v", err)
		}
	}()
	ended := make(chan struct{})
	go func() { // Fatalf ends this goroutine.
		defer close(ended)
		defer func() {
			if v := recover(); v != nil {
				p.Errorf("panics: %v", v)
			}
		}()
		check(p)
	}()
	<-ended
}

func (p *Probe) open() {
	store, err := p.harness.Open(p.dir)
	if err != nil {
		p.Errorf("open the store: %v", err)
		return
	}
	p.store = store
}

// Reopen closes the store and opens it again on the same directory.
func (p *Probe) Reopen() {
	if err := p.store.Plugin.Close(p.ctx); err != nil {
		p.Fatalf("Close of the store: %v", err)
	}
	store, err := p.harness.Open(p.dir)
	if err != nil {
		p.Fatalf("open the store again: %v", err)
	}
	p.store = store
}

// Context ends when the clause has taken too long.
func (p *Probe) Context() context.Context { return p.ctx }

// Ledgers returns the store under test.
func (p *Probe) Ledgers() sdk.LedgerStore { return p.store.Ledgers }

// Metadata returns the metadata store under test.
func (p *Probe) Metadata() sdk.MetadataStore { return p.store.Metadata }

// Plugin returns the plugin under test.
func (p *Probe) Plugin() sdk.Plugin { return p.store.Plugin }

// Errorf notes a problem; the check goes on.
func (p *Probe) Errorf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

// Fatalf notes a problem and ends the check.
func (p *Probe) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	runtime.Goexit()
}

// Must ends the check if err is not nil.
func (p *Probe) Must(doing string, err error) {
	if err != nil {
		p.Fatalf("%s: %v", doing, err)
	}
}

// Wants notes a problem unless err is one of the wanted errors.
func (p *Probe) Wants(doing string, err error, wanted ...error) {
	for _, want := range wanted {
		if errors.Is(err, want) {
			return
		}
	}
	p.Errorf("%s: got error %q, want %q", doing, fmt.Sprint(err), wanted)
}

func (p *Probe) problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.found...)
}
