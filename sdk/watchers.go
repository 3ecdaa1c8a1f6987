package sdk

import (
	"context"
	"strings"
	"sync"
)

// Watchers implements [MetadataReader.Watch] for a metadata store that sees
// all writes itself: the store calls Changed after each one. The zero value is
// ready. A watcher has no goroutine of its own; it uses that of the caller of
// Watch.
type Watchers struct {
	mu     sync.Mutex // guards all that follows and the pending keys of each watcher
	active map[*watcher]struct{}
	closed bool
}

// watcher is one call of Watch.
type watcher struct {
	prefix  string
	pending map[string]struct{}
	wake    chan struct{} // holds one token while pending is not empty, or Watchers is closed
}

// Watch calls changed until ctx ends or the store closes ([ErrClosed]).
func (w *Watchers) Watch(ctx context.Context, prefix string, changed func(key string)) error {
	own := &watcher{prefix: prefix, pending: map[string]struct{}{}, wake: make(chan struct{}, 1)}
	if !w.add(own) {
		return ErrClosed
	}
	defer w.remove(own)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-own.wake:
		}
		keys, open := w.take(own)
		for key := range keys {
			changed(key)
		}
		if !open {
			return ErrClosed
		}
	}
}

// Changed tells every watcher of a prefix of key. It does not block.
func (w *Watchers) Changed(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for own := range w.active {
		if strings.HasPrefix(key, own.prefix) {
			own.pending[key] = struct{}{}
			own.notify()
		}
	}
}

// Close ends every Watch with [ErrClosed].
func (w *Watchers) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for own := range w.active {
		own.notify()
	}
}

func (w *Watchers) add(own *watcher) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if w.active == nil {
		w.active = map[*watcher]struct{}{}
	}
	w.active[own] = struct{}{}
	return true
}

func (w *Watchers) remove(own *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.active, own)
}

// take empties the watcher's pending keys.
func (w *Watchers) take(own *watcher) (keys map[string]struct{}, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys, own.pending = own.pending, map[string]struct{}{}
	return keys, !w.closed
}

func (own *watcher) notify() {
	select {
	case own.wake <- struct{}{}:
	default:
	}
}
