package scheduling

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// strand is the lane of a [Pool]: a queue with at most one owner, who runs it.
// The owner is a drainer, a caller of Run, or the pool's ready queue, which
// keeps the lane until a drainer comes.
type strand struct {
	pool   *Pool
	name   string
	labels *labels // nil if profiles get none
	next   *strand // in the ready queue, whose lock guards it
	// backlog is the front of the queue. It is the owner's, who takes the whole
	// inbox at once when it is empty: however many callers crowd the lock, each
	// time that the owner gets it serves all of them.
	backlog fifo
	// refuses is written with the lock. Reading it before spares a lane that is
	// full from callers that would crowd its lock for nothing.
	refuses atomic.Int32

	mu    sync.Mutex // guards all below; nothing is called while it is held
	inbox fifo
	count int // tasks that were queued and have not ended
	owned bool
	// ended is made by the first Close that waits, and closed by the owner that
	// leaves the closed lane empty.
	ended   chan struct{}
	sampler sampler
	sums    [KindCount]sum
}

// What a lane refuses.
const (
	refusesNothing = iota
	refusesFull
	refusesClosed
)

// Post implements [Lane].
func (l *strand) Post(kind Kind, task Task) error {
	if err := l.lock(); err != nil {
		return err
	}
	l.enqueue(kind, task)
	wake := !l.owned
	l.owned = true
	l.mu.Unlock()
	if wake {
		l.pool.ready.push(l)
	}
	return nil
}

// Run implements [Lane].
func (l *strand) Run(kind Kind, task Task) error {
	if err := l.lock(); err != nil {
		return err
	}
	here := !l.owned
	if here {
		l.owned = true
	} else {
		l.enqueue(kind, task)
	}
	l.mu.Unlock()
	if here {
		l.runHere(kind, task)
	}
	return nil
}

// lock admits a task to the pool and the lane and locks the lane. After an
// error the lane is not locked.
func (l *strand) lock() error {
	if err := l.refusal(); err != nil {
		return err
	}
	if err := l.pool.admit(); err != nil {
		return err
	}
	l.mu.Lock()
	err := l.refusal()
	if err != nil {
		l.mu.Unlock()
		l.pool.ended(1)
	}
	return err
}

func (l *strand) refusal() error {
	switch l.refuses.Load() {
	case refusesNothing:
		return nil
	case refusesFull:
		return ErrFull
	}
	return ErrClosed
}

// enqueue is called with the lane locked.
func (l *strand) enqueue(kind Kind, task Task) {
	r := record{task: task, kind: kind}
	if l.sampler.pick(kind) {
		r.taken = l.pool.clock.now()
	}
	l.inbox.push(r, &l.pool.slabs)
	l.count++
	if l.count == l.pool.config.MaxWaitingPerLane {
		l.refuses.Store(refusesFull)
	}
}

// dequeued takes tasks that ended off the count. Called with the lane locked.
func (l *strand) dequeued(tasks int) {
	l.count -= tasks
	if l.refuses.Load() == refusesFull && l.count < l.pool.config.MaxWaitingPerLane {
		l.refuses.Store(refusesNothing)
	}
}

// fetch moves the inbox to the backlog, which is empty, and returns whether it
// held something. Called by the owner with the lane locked.
func (l *strand) fetch() bool {
	l.backlog, l.inbox = l.inbox, fifo{}
	return l.backlog.count > 0
}

// runHere runs a task on the goroutine of a caller of Run, who owns the lane.
func (l *strand) runHere(kind Kind, task Task) {
	if l.labels != nil {
		l.labels.set(kind)
		defer unset()
	}
	defer l.ranHere(kind, l.pool.clock.now()) // also if the task ends the goroutine
	l.attempt(kind, task)
}

// ranHere settles a task that its caller ran. What was queued meanwhile is for
// a drainer.
func (l *strand) ranHere(kind Kind, began int64) {
	now := l.pool.clock.now()
	l.mu.Lock()
	l.sums[kind].tasks++
	l.sums[kind].busy += now - began
	more := l.count > 0
	if !more {
		l.disown()
	}
	l.mu.Unlock()
	if more {
		l.pool.ready.push(l)
	}
	l.pool.ended(1)
}

// attempt runs one task and catches its panic.
func (l *strand) attempt(kind Kind, task Task) {
	ended := false
	defer func() {
		if !ended {
			l.pool.panicked(l.name, kind, task, panicOf(recover()))
		}
	}()
	task.Run()
	ended = true
}

// disown makes the lane idle. The caller is its owner, the lane is locked and
// it has no tasks.
func (l *strand) disown() {
	l.owned = false
	if l.ended != nil {
		close(l.ended)
		l.ended = nil
	}
}

// Stats implements [Lane].
func (l *strand) Stats() LaneStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := LaneStats{Queued: l.count}
	for kind := range l.sums {
		s.ByKind[kind] = l.sums[kind].stats()
	}
	return s
}

// Close implements [Lane].
func (l *strand) Close(ctx context.Context) error {
	l.mu.Lock()
	l.refuses.Store(refusesClosed)
	if !l.owned || insideTask() {
		l.mu.Unlock()
		return nil
	}
	if l.ended == nil {
		l.ended = make(chan struct{})
	}
	ended := l.ended
	l.mu.Unlock()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("scheduling: close lane %q: %d tasks left: %w", l.name, l.Stats().Queued, context.Cause(ctx))
	}
}
