package pebble

import (
	"context"
	"sync"
)

// keyLocks lets one change of a key at a time pass.
type keyLocks struct {
	mu   sync.Mutex // guards held and the users of each lock
	held map[string]*keyLock
}

// keyLock is kept as long as somebody holds it or waits for it.
type keyLock struct {
	users int
	token chan struct{} // holds one token while the key is free
}

// lock waits for the key, or for the end of the context. release may be called
// by another goroutine.
func (k *keyLocks) lock(ctx context.Context, key string) (release func(), err error) {
	k.mu.Lock()
	l := k.held[key]
	if l == nil {
		l = &keyLock{token: make(chan struct{}, 1)}
		l.token <- struct{}{}
		k.held[key] = l
	}
	l.users++
	k.mu.Unlock()
	select {
	case <-l.token:
		return func() {
			l.token <- struct{}{}
			k.leave(key, l)
		}, nil
	case <-ctx.Done():
		k.leave(key, l)
		return nil, ctx.Err()
	}
}

func (k *keyLocks) leave(key string, l *keyLock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(k.held, key)
	}
}
