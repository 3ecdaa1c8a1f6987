package pebble

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/sdk"
)

// ledger is what all handles of one ledger, and the committer, share. A store
// has at most one for each id, for as long as somebody has a handle or adds are
// on their way.
type ledger struct {
	id sdk.LedgerID

	// state is what may be read. Written by the committer while the ledger
	// has a writer, and by whoever holds settling.
	state atomic.Pointer[sdk.LedgerState]
	// loaded says that state is there.
	loaded atomic.Bool
	// gone says that the ledger was deleted.
	gone atomic.Bool
	// settling serialises loading, sealing, recovery and deletion. It holds one
	// token while nobody does any of them.
	settling chan struct{}

	handles int // guarded by Store.mu

	// Guarded by intake.mu.
	queue       []request
	outstanding int         // requests queued or taken whose Done was not called
	next        sdk.EntryID // what the next batch begins with
	refusal     error       // why no more is appended, nil while it has a writer
	whenIdle    []func()    // called once outstanding is 0
	taken       []request   // the part of the queue that the committer has
	written     sdk.EntryID // last entry put into a group; the committer's
	total       int64       // payload bytes up to written; the committer's
}

// request is one batch on its way. err says that it must fail, and why.
type request struct {
	batch sdk.Batch
	bytes int
	err   error
}

// units is what the request counts for when a group gathers.
func (r *request) units() int { return max(len(r.batch.Entries), 1) }

func newLedger(id sdk.LedgerID) *ledger {
	l := &ledger{id: id, settling: make(chan struct{}, 1), written: sdk.NoEntry}
	l.settling <- struct{}{}
	return l
}

func (l *ledger) wrap(err error) error { return fmt.Errorf("ledger %d: %w", l.id, err) }

// publish makes state visible to all handles.
func (l *ledger) publish(state sdk.LedgerState) {
	l.state.Store(&state)
	l.loaded.Store(true)
}

// settle begins what must not happen twice at the same time. Whoever got nil
// calls settled.
func (l *ledger) settle(ctx context.Context) error {
	select {
	case <-l.settling:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *ledger) settled() { l.settling <- struct{}{} }
