package managedledger

import (
	"sync"
	"sync/atomic"
)

// waiter is who wants to hear that the LAC moved or the state changed.
type waiter interface {
	// wake is called once for each registration that was not removed, on the
	// managed ledger's lane. It is cheap (it closes a channel or posts to
	// another lane) and runs nothing of a user.
	wake()
}

// waiters are those to wake at the next change. Who registers looks at the
// view again afterwards: the change is published before the waiters are taken,
// so a wake-up cannot be missed.
type waiters struct {
	count atomic.Int32
	// mu guards list.
	mu   sync.Mutex
	list []waiter
	// spare is the backing of the list that was woken last; only wakeAll, which
	// runs on the lane, touches it.
	spare []waiter
}

// add registers w, which must not be registered.
func (s *waiters) add(w waiter) {
	s.mu.Lock()
	s.list = append(s.list, w)
	s.count.Store(int32(len(s.list)))
	s.mu.Unlock()
}

// remove takes w out. False means that it is not registered (any more): its
// wake was called or is about to be.
func (s *waiters) remove(w waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.list) - 1; i >= 0; i-- {
		if s.list[i] == w {
			last := len(s.list) - 1
			s.list[i], s.list[last] = s.list[last], nil
			s.list = s.list[:last]
			s.count.Store(int32(last))
			return true
		}
	}
	return false
}

// wakeAll takes all waiters and wakes them. It runs on the lane, after the
// change was published.
func (s *waiters) wakeAll() {
	if s.count.Load() == 0 {
		return
	}
	s.mu.Lock()
	woken := s.list
	s.list = s.spare[:0]
	s.count.Store(0)
	s.mu.Unlock()
	for _, w := range woken {
		w.wake()
	}
	clear(woken)
	s.spare = woken
}

// waiting returns the number of registered waiters.
func (s *waiters) waiting() int { return int(s.count.Load()) }
