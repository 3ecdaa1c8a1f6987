package sdk

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
)

// BlockingStore is what the author of a store that simply blocks writes;
// [NewBlocking] makes the full contract of it. All methods may be called at
// the same time from many goroutines, those for one ledger as said there. No
// method is called after Close, if the store is an [io.Closer], or during it.
//
// Errors are the sentinels of this package, wrapped with what happened. A
// method that panics has failed.
type BlockingStore interface {
	BlockingLedgers
	BlockingEntries
}

// BlockingLedgers is the life of ledgers in a [BlockingStore].
type BlockingLedgers interface {
	// Create stores a new, empty, open ledger and returns its id, which the
	// store never gave before.
	Create(ctx context.Context, options CreateOptions) (LedgerID, error)
	// Seal stores that the ledger is closed at last. Entries above last, left
	// by an Append that failed, are then not part of the ledger.
	Seal(ctx context.Context, id LedgerID, last EntryID) error
	// Delete removes the ledger with its entries, or returns [ErrLedgerNotFound].
	Delete(ctx context.Context, id LedgerID) error
	// List is [LedgerStore.List]; limit is at least 1.
	List(ctx context.Context, after LedgerID, limit int) ([]LedgerID, error)
}

// BlockingEntries is what lies in the ledgers of a [BlockingStore].
type BlockingEntries interface {
	// Append stores entries from id first on and returns when they are on
	// stable storage. It is called by one goroutine at a time for each ledger,
	// without gaps, and never again after it failed. [ErrFull], [ErrTooLarge],
	// [ErrBusy] and [ErrUnavailable] say that nothing was stored; any other
	// error is taken for an unknown outcome. The entries are the caller's.
	Append(id LedgerID, first EntryID, entries [][]byte) error
	// Read returns the entries r.First to r.Last, which are there. It may
	// return fewer once they have r.MaxBytes, if that is not 0; at least one.
	Read(ctx context.Context, id LedgerID, r Range) ([][]byte, error)
	// State returns what is stored: the last entry, the bytes, and whether the
	// ledger is closed; or [ErrLedgerNotFound]. Damage is [ErrCorrupt], never
	// an earlier end.
	State(ctx context.Context, id LedgerID) (LedgerState, error)
}

// Blocking turns a [BlockingStore] into a [LedgerStore] and [Plugin]: adds are
// pipelined, acknowledged in order and joined while the store is busy; handles,
// fencing and closing are as the contract wants them. It fences among its own
// handles, so the stored data must have no other user.
//
// A ledger has a goroutine only while batches are queued for it.
type Blocking struct {
	store BlockingStore
	info  Info

	mu       sync.Mutex // guards what follows
	ledgers  map[LedgerID]*blockingLedger
	creating map[*creation]struct{} // the calls of Create under way
	closed   bool

	busy    sync.WaitGroup // calls of the store under way, and the goroutines of ledgers
	closing sync.Once
	result  error // of closing
}

// creation is a call of Create under way, and the ledgers that others opened
// meanwhile: its own may be among them as soon as the store has made it.
type creation struct{ opened []LedgerID }

// NewBlocking adapts store. info is what [Plugin.Info] says; BlockingReads is
// set, MaxEntryBytes is enforced if it is not 0. If the store is an
// [io.Closer], Close closes it.
func NewBlocking(store BlockingStore, info Info) *Blocking {
	info.BlockingReads = true
	return &Blocking{store: store, info: info, ledgers: map[LedgerID]*blockingLedger{}, creating: map[*creation]struct{}{}}
}

// Info implements [Plugin].
func (b *Blocking) Info() Info { return b.info }

// Health implements [Plugin]. It asks the store if that has a method Health.
func (b *Blocking) Health(ctx context.Context) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.busy.Done()
	if asked, ok := b.store.(interface{ Health(context.Context) error }); ok {
		return guarded(func() error { return asked.Health(ctx) })
	}
	return nil
}

// Close implements [Plugin]. What was handed over is stored first, and calls
// under way end by themselves.
func (b *Blocking) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	for _, l := range b.ledgers {
		l.stop(ErrClosed)
	}
	b.mu.Unlock()
	drained := make(chan struct{})
	go func() { // ends when the last ledger is drained and the last call has ended
		b.busy.Wait()
		close(drained)
	}()
	select {
	case <-drained:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.closing.Do(func() {
		if closer, ok := b.store.(io.Closer); ok {
			b.result = guarded(closer.Close)
		}
	})
	return b.result
}

// Create implements [LedgerStore].
func (b *Blocking) Create(ctx context.Context, options CreateOptions) (LedgerWriter, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.busy.Done()
	if err := options.Validate(); err != nil {
		return nil, err
	}
	under := &creation{}
	b.mu.Lock()
	b.creating[under] = struct{}{}
	b.mu.Unlock()
	var id LedgerID
	err := guarded(func() (err error) {
		id, err = b.store.Create(ctx, options)
		return err
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.creating, under)
	switch {
	case err != nil:
		return nil, err
	case b.closed:
		return nil, ErrClosed
	case slices.Contains(under.opened, id):
		// Whoever was quicker may have closed it for good.
		return nil, fmt.Errorf("%w: ledger %d was opened by somebody else before its writer; create another one", ErrUnavailable, id)
	}
	l := newBlockingLedger(b, id)
	l.publish(LedgerState{LastConfirmed: NoEntry})
	l.refusal, l.handles = nil, 1
	b.ledgers[id] = l
	return &blockingWriter{blockingReader: blockingReader{ledger: l}}, nil
}

// Open implements [LedgerStore].
func (b *Blocking) Open(ctx context.Context, id LedgerID, mode OpenMode) (LedgerReader, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.busy.Done()
	l, err := b.acquire(ctx, id)
	if err != nil {
		return nil, err
	}
	if mode == OpenRecover {
		if err := l.recover(ctx); err != nil {
			b.release(l)
			return nil, err
		}
	}
	return &blockingReader{ledger: l}, nil
}

// Delete implements [LedgerStore].
func (b *Blocking) Delete(ctx context.Context, id LedgerID) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.busy.Done()
	l, err := b.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer b.release(l)
	l.refuse(l.wrap(ErrLedgerNotFound))
	if err := l.settle(ctx); err != nil {
		return err
	}
	defer l.settled()
	if l.gone.Load() {
		return l.wrap(ErrLedgerNotFound)
	}
	l.gone.Store(true) // before readers can miss an entry
	err = guarded(func() error { return b.store.Delete(ctx, id) })
	if err != nil {
		l.gone.Store(false)
	}
	return err
}

// List implements [LedgerStore].
func (b *Blocking) List(ctx context.Context, after LedgerID, limit int) (ids []LedgerID, err error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.busy.Done()
	if limit < 1 {
		return nil, fmt.Errorf("%w: limit %d", ErrInvalid, limit)
	}
	err = guarded(func() (err error) {
		ids, err = b.store.List(ctx, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// enter begins a call, which Close waits for. Whoever got nil calls busy.Done.
func (b *Blocking) enter(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.busy.Add(1)
	return nil
}

// acquire returns the ledger with one more handle. Whoever got it calls release.
func (b *Blocking) acquire(ctx context.Context, id LedgerID) (*blockingLedger, error) {
	b.mu.Lock()
	l := b.ledgers[id]
	if l == nil {
		l = newBlockingLedger(b, id)
		b.ledgers[id] = l
		for c := range b.creating {
			c.opened = append(c.opened, id)
		}
	}
	l.handles++
	b.mu.Unlock()
	if err := l.load(ctx); err != nil {
		b.release(l)
		return nil, err
	}
	return l, nil
}

// release gives a handle up.
func (b *Blocking) release(l *blockingLedger) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.handles--; l.handles == 0 {
		delete(b.ledgers, l.id)
	}
}

// guarded calls code of the store's author and turns a panic into an error.
func guarded(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: the store panicked: %v", ErrUnavailable, v)
		}
	}()
	return call()
}
