package sdk

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// blockingLedger is the state that all handles of one ledger share.
type blockingLedger struct {
	owner *Blocking
	id    LedgerID

	state    atomic.Pointer[LedgerState]
	loaded   atomic.Bool   // state is there
	gone     atomic.Bool   // the ledger was deleted
	settling chan struct{} // holds a token while nobody loads, seals, recovers or deletes

	handles int // guarded by Blocking.mu

	mu       sync.Mutex // guards what follows
	queue    []blockingRequest
	bytes    int     // payload bytes in the queue
	next     EntryID // what the next batch begins with
	refusal  error   // why no more is appended, nil while the ledger has a writer
	running  bool    // a goroutine drains the queue; it ends when the queue is empty
	whenIdle []func()
}

func newBlockingLedger(owner *Blocking, id LedgerID) *blockingLedger {
	l := &blockingLedger{owner: owner, id: id, settling: make(chan struct{}, 1)}
	l.refusal = l.wrap(ErrFenced) // whoever wrote it is gone
	l.settling <- struct{}{}
	return l
}

func (l *blockingLedger) wrap(err error) error { return fmt.Errorf("ledger %d: %w", l.id, err) }

func (l *blockingLedger) publish(state LedgerState) {
	l.state.Store(&state)
	l.loaded.Store(true)
}

// idle calls f once no add is on its way, perhaps at once.
func (l *blockingLedger) idle(f func()) {
	l.mu.Lock()
	if l.running {
		l.whenIdle = append(l.whenIdle, f)
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	f()
}

// settle waits until no add is on its way and begins what must not happen twice
// at the same time. Whoever got nil calls settled.
func (l *blockingLedger) settle(ctx context.Context) error {
	idle := make(chan struct{})
	l.idle(func() { close(idle) })
	for _, awaited := range []chan struct{}{idle, l.settling} {
		select {
		case <-awaited:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (l *blockingLedger) settled() { l.settling <- struct{}{} }

// load asks the store for the state if nobody did.
func (l *blockingLedger) load(ctx context.Context) error {
	if !l.loaded.Load() {
		if err := l.settle(ctx); err != nil {
			return err
		}
		defer l.settled()
	}
	if l.gone.Load() {
		return l.wrap(ErrLedgerNotFound)
	}
	if l.loaded.Load() {
		return nil
	}
	state, err := l.stored(ctx)
	if err == nil {
		l.publish(state)
	}
	return err
}

func (l *blockingLedger) stored(ctx context.Context) (state LedgerState, err error) {
	err = guarded(func() (err error) {
		state, err = l.owner.store.State(ctx, l.id)
		return err
	})
	if err != nil {
		return state, l.wrap(err)
	}
	return state, nil
}

// recover fences the writer and closes the ledger at the last stored entry.
func (l *blockingLedger) recover(ctx context.Context) error {
	if l.state.Load().Closed {
		return nil
	}
	l.refuse(l.wrap(ErrFenced))
	if err := l.settle(ctx); err != nil {
		return err
	}
	defer l.settled()
	if l.gone.Load() {
		return l.wrap(ErrLedgerNotFound)
	}
	if l.state.Load().Closed {
		return nil
	}
	state, err := l.stored(ctx)
	if err != nil {
		return err
	}
	return l.close(ctx, state)
}

// close stores that the ledger is closed at state. The caller has settled.
func (l *blockingLedger) close(ctx context.Context, state LedgerState) error {
	err := guarded(func() error { return l.owner.store.Seal(ctx, l.id, state.LastConfirmed) })
	if err != nil {
		return l.wrap(err)
	}
	state.Closed = true
	l.publish(state)
	return nil
}
