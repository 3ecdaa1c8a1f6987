package managedledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// maxReadHandles bounds the handles of closed ledgers that one managed ledger
// keeps open. The least recently used one is closed first; a reader that is
// just about to use it gets sdk.ErrClosed and asks again.
const maxReadHandles = 32

// readerFunc gets a handle, or why there is none. It must not block.
type readerFunc func(r sdk.LedgerReader, kind scheduling.Handle, err error)

// handles are the ledgers that are open for reading.
type handles struct {
	store    sdk.LedgerStore
	executor scheduling.Executor
	// ctx ends the opens in flight when the managed ledger closes.
	ctx context.Context
	// limit is how long an open may take; 0 means for ever.
	limit func() time.Duration

	// mu guards all below. No callback runs while it is held.
	mu       sync.Mutex
	closed   error
	writable sdk.LedgerReader // of the open ledger, nil if there is none
	byID     map[sdk.LedgerID]*readHandle
	uses     uint64
}

// readHandle is a closed ledger that is open for reading, or being opened.
type readHandle struct {
	set     *handles
	id      sdk.LedgerID
	reader  sdk.LedgerReader // nil while opening
	waiting []readerFunc
	used    uint64
}

// init prepares the handles; ctx ends the opens in flight.
func (h *handles) init(ctx context.Context, store sdk.LedgerStore, executor scheduling.Executor, limit func() time.Duration) {
	h.ctx, h.store, h.executor, h.limit = ctx, store, executor, limit
}

// get passes the handle of a ledger to done: the writer's for the open ledger,
// at once; the cached one of a closed ledger, at once; or a new one, from an
// executor goroutine. A ledger is opened once for all who ask meanwhile; a
// failed open is not kept. done is called exactly once.
func (h *handles) get(id sdk.LedgerID, done readerFunc) {
	h.mu.Lock()
	if h.closed != nil {
		err := h.closed
		h.mu.Unlock()
		done(nil, scheduling.HandleClosed, err)
		return
	}
	if h.writable != nil && h.writable.ID() == id {
		r := h.writable
		h.mu.Unlock()
		done(r, scheduling.HandleWritable, nil)
		return
	}
	h.uses++
	if known := h.byID[id]; known != nil {
		known.used = h.uses
		if r := known.reader; r != nil {
			h.mu.Unlock()
			done(r, scheduling.HandleClosed, nil)
			return
		}
		known.waiting = append(known.waiting, done)
		h.mu.Unlock()
		return
	}
	opening := &readHandle{set: h, id: id, used: h.uses, waiting: []readerFunc{done}}
	evicted := h.insert(opening)
	h.mu.Unlock()
	closeReader(evicted)
	if err := h.executor.Go(opening); err != nil {
		opening.opened(nil, fmt.Errorf("open ledger %d for reading: %w: %w", id, sdk.ErrBusy, err))
	}
}

// Run opens the ledger. With recovery, because the ledger is closed as far as
// this managed ledger knows, so that changes nothing, and it makes the store
// find its true end.
func (r *readHandle) Run() {
	ctx := r.set.ctx
	if limit := r.set.limit(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	reader, err := r.set.store.Open(ctx, r.id, sdk.OpenRecover)
	if err != nil {
		err = fmt.Errorf("open ledger %d for reading: %w", r.id, err)
	}
	r.opened(reader, err)
}

// Failed is told that the store panicked.
func (r *readHandle) Failed(err error) {
	r.opened(nil, fmt.Errorf("open ledger %d for reading: %w", r.id, err))
}

// opened ends an open and passes its result to all who wait for it.
func (r *readHandle) opened(reader sdk.LedgerReader, err error) {
	h := r.set
	h.mu.Lock()
	waiting := r.waiting
	r.waiting = nil
	current := h.byID[r.id] == r
	switch {
	case err != nil && current:
		delete(h.byID, r.id)
	case err == nil && !current && h.closed != nil:
		err = h.closed
	}
	var unwanted sdk.LedgerReader
	if err == nil && current {
		r.reader = reader
	} else if err != nil {
		unwanted, reader = reader, nil
	}
	h.mu.Unlock()
	closeReader(unwanted)
	for _, done := range waiting {
		done(reader, scheduling.HandleClosed, err)
	}
}

// setWritable makes w the handle of the open ledger; nil means that there is
// none. The former one stays as the handle of what is now a closed ledger.
func (h *handles) setWritable(w sdk.LedgerWriter) {
	h.mu.Lock()
	former := h.writable
	h.writable = nil
	if w != nil {
		h.writable = w
	}
	var unwanted sdk.LedgerReader
	if former != nil {
		h.uses++
		if h.closed != nil || h.byID[former.ID()] != nil {
			unwanted = former
		} else {
			unwanted = h.insert(&readHandle{set: h, id: former.ID(), reader: former, used: h.uses})
		}
	}
	h.mu.Unlock()
	closeReader(unwanted)
}

// insert adds a handle and returns the one to close for it, if any. It is
// called with mu held.
func (h *handles) insert(r *readHandle) (evicted sdk.LedgerReader) {
	if h.byID == nil {
		h.byID = make(map[sdk.LedgerID]*readHandle)
	}
	if len(h.byID) >= maxReadHandles {
		var oldest *readHandle
		for _, known := range h.byID {
			if known.reader != nil && (oldest == nil || known.used < oldest.used) {
				oldest = known
			}
		}
		if oldest != nil {
			delete(h.byID, oldest.id)
			evicted = oldest.reader
		}
	}
	h.byID[r.id] = r
	return evicted
}

// drop forgets the handle of a closed ledger, because it does not work any
// more or the ledger is gone; the next get opens it again.
func (h *handles) drop(id sdk.LedgerID) {
	h.mu.Lock()
	known := h.byID[id]
	var unwanted sdk.LedgerReader
	if known != nil && known.reader != nil {
		delete(h.byID, id)
		unwanted = known.reader
	}
	h.mu.Unlock()
	closeReader(unwanted)
}

// close closes all handles; gets end with err from then on.
func (h *handles) close(err error) {
	h.mu.Lock()
	if h.closed != nil {
		h.mu.Unlock()
		return
	}
	h.closed = err
	all, writable := h.byID, h.writable
	h.byID, h.writable = nil, nil
	h.mu.Unlock()
	closeReader(writable)
	for _, known := range all {
		closeReader(known.reader)
	}
}

// open returns the number of handles held.
func (h *handles) open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byID)
}

// closeReader gives a handle up. A handle that cannot be closed is not needed
// either, so there is nobody to tell.
func closeReader(r sdk.LedgerReader) {
	if r != nil {
		_ = r.Close()
	}
}
