package entrycache

import (
	"container/list"
	"fmt"
	"sync"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// limiter bounds the estimated bytes of storage reads in flight. Who finds no
// room waits in a bounded queue, first come, first served.
type limiter struct {
	executor scheduling.Executor

	// mu guards what follows; nobody is called while it is held.
	mu         sync.Mutex
	max        int64 // 0: no bound
	maxWaiting int
	used       int64
	inFlight   int
	queue      list.List // of *flight
	// admitting is true while a goroutine goes through the queue; others leave
	// it to that one.
	admitting bool
}

// configure changes the limits and lets in whom the new ones let in.
func (l *limiter) configure(maxBytes int64, maxWaiting int) {
	l.mu.Lock()
	l.max, l.maxWaiting = maxBytes, maxWaiting
	l.mu.Unlock()
	l.admit()
}

// fits says whether f may be in flight now. One alone always may, so that a
// limit below the size of a single read slows reads down and stops none.
func (l *limiter) fits(f *flight) bool {
	return l.max == 0 || l.inFlight == 0 || f.bytes <= l.max-l.used
}

// enter lets f in, or queues it; then it is started when there is room.
func (l *limiter) enter(f *flight) (admitted bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.Len() == 0 && l.fits(f) {
		l.take(f)
		return true, nil
	}
	if l.queue.Len() >= l.maxWaiting {
		return false, fmt.Errorf("%d storage reads of about %d bytes are in flight and %d wait for room; the limits are %d bytes and %d reads: %w",
			l.inFlight, l.used, l.queue.Len(), l.max, l.maxWaiting, sdk.ErrBusy)
	}
	f.place = l.queue.PushBack(f)
	return false, nil
}

func (l *limiter) take(f *flight) {
	f.admitted = true
	l.used += f.bytes
	l.inFlight++
}

func (l *limiter) give(f *flight) {
	if f.admitted {
		f.admitted = false
		l.used -= f.bytes
		l.inFlight--
	}
}

// withdraw takes f out of the queue if it is still there.
func (l *limiter) withdraw(f *flight) {
	l.mu.Lock()
	if f.place != nil {
		l.queue.Remove(f.place)
		f.place = nil
	}
	l.mu.Unlock()
	l.admit() // the next one may be smaller
}

// leave gives back the room of f, if it had any.
func (l *limiter) leave(f *flight) {
	l.mu.Lock()
	l.give(f)
	waiting := l.queue.Len() > 0
	l.mu.Unlock()
	if waiting {
		l.admit()
	}
}

// admit starts the reads at the head of the queue for which there is room.
func (l *limiter) admit() {
	var rejected []*flight // by the executor
	var why error
	l.mu.Lock()
	if l.admitting {
		l.mu.Unlock()
		return
	}
	l.admitting = true
	for f := l.next(); f != nil; f = l.next() {
		l.mu.Unlock()
		err := l.executor.Go((*launch)(f))
		l.mu.Lock()
		if err != nil {
			l.give(f)
			rejected, why = append(rejected, f), refused(err)
		}
	}
	l.admitting = false
	l.mu.Unlock()
	for _, f := range rejected {
		f.finish(nil, why)
	}
}

// next lets the head of the queue in, if there is room for it.
func (l *limiter) next() *flight {
	head := l.queue.Front()
	if head == nil || !l.fits(head.Value.(*flight)) {
		return nil
	}
	f := l.queue.Remove(head).(*flight)
	f.place = nil
	l.take(f)
	return f
}

// launch is a flight that had to wait for room, as the task that submits it.
type launch flight

func (l *launch) Run() { (*flight)(l).submit() }
