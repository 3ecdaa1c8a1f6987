package scheduling

import "sync"

// work is what Go takes: tasks that may block, run by up to a limit of
// goroutines, with a bounded queue before them.
type work struct {
	pool *Pool

	mu      sync.Mutex // guards all below; nothing is called while it is held
	queue   fifo
	running int // goroutines that run tasks or are about to
	closed  bool
	drained chan struct{} // closed by the last goroutine, once closed
	sum     sum
}

// add takes a task or refuses it.
func (w *work) add(task Task) error {
	w.mu.Lock()
	begin, err := w.take(task)
	w.mu.Unlock()
	if begin {
		w.begin(w.record(task))
	}
	return err
}

// take queues a task or returns that a goroutine is to begin with it, which is
// counted already. Called with the lock.
func (w *work) take(task Task) (begin bool, err error) {
	switch {
	case w.closed:
		return false, ErrClosed
	case w.running < w.pool.config.Workers:
		w.running++
		return true, nil
	case w.queue.count < w.pool.config.MaxQueuedWork:
		w.queue.push(w.record(task), &w.pool.slabs)
		return false, nil
	}
	return false, ErrFull
}

func (w *work) record(task Task) record {
	return record{task: task, taken: w.pool.clock.now()}
}

// begin starts a goroutine, which is counted already, that runs the task and
// then those that wait.
func (w *work) begin(r record) {
	w.pool.workers.start(func() {
		defer w.leave() // also if a task ends the goroutine
		for more := true; more; r, more = w.next() {
			w.run(r)
		}
	})
}

// run runs one task and catches its panic.
func (w *work) run(r record) {
	began, ended := w.pool.clock.now(), false
	defer func() {
		if !ended {
			w.pool.panicked("", r.kind, r.task, panicOf(recover()))
		}
		now := w.pool.clock.now()
		w.mu.Lock()
		w.sum.add(&sum{tasks: 1, queued: 1, measured: 1, busy: now - began, waited: began - r.taken})
		w.mu.Unlock()
	}()
	r.task.Run()
	ended = true
}

// next returns the task that waits longest, if any.
func (w *work) next() (r record, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pull()
}

// leave takes a goroutine off the count, unless tasks came since it looked, or
// a task ended it: then another one takes its place.
func (w *work) leave() {
	w.mu.Lock()
	r, more := w.pull()
	if !more {
		w.running--
	}
	if w.closed && w.running == 0 {
		close(w.drained)
	}
	w.mu.Unlock()
	if more {
		w.begin(r)
	}
}

// pull takes a task from the queue. Called with the lock.
func (w *work) pull() (r record, more bool) {
	if w.queue.count == 0 {
		return record{}, false
	}
	return w.queue.pop(&w.pool.slabs), true
}

// close refuses further tasks, lets those that were taken run, and returns a
// channel that is closed when the last has ended. It is called once.
func (w *work) close() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.drained = make(chan struct{})
	if w.running == 0 {
		close(w.drained)
	}
	return w.drained
}
