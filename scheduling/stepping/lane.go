package stepping

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/scheduling/internal/callers"
)

// lane is a lane of an [Executor], whose lock guards it.
type lane struct {
	executor *Executor
	name     string
	queue    []*item
	running  bool // one of its tasks runs
	listed   bool // it is in the executor's list
	closed   bool
	ended    chan struct{} // made by a Close that waits for a running task
	tasks    [scheduling.KindCount]int64
}

// Post implements [scheduling.Lane].
func (l *lane) Post(kind scheduling.Kind, task scheduling.Task) error {
	l.executor.mu.Lock()
	defer l.executor.mu.Unlock()
	return l.enqueue(kind, task)
}

// Run implements [scheduling.Lane].
func (l *lane) Run(kind scheduling.Kind, task scheduling.Task) error {
	e := l.executor
	e.mu.Lock()
	if !e.inCaller || l.running || len(l.queue) > 0 || e.refusal != nil {
		defer e.mu.Unlock()
		return l.enqueue(kind, task)
	}
	if l.closed {
		e.mu.Unlock()
		return scheduling.ErrClosed
	}
	i := e.item(task, kind, l)
	e.begin(i, true)
	e.mu.Unlock()
	e.run(i)
	return nil
}

// enqueue is called with the executor's lock.
func (l *lane) enqueue(kind scheduling.Kind, task scheduling.Task) error {
	if l.closed {
		return scheduling.ErrClosed
	}
	if l.executor.refusal != nil {
		return l.executor.refusal
	}
	l.queue = append(l.queue, l.executor.item(task, kind, l))
	if !l.listed {
		l.listed = true
		l.executor.lanes = append(l.executor.lanes, l)
	}
	return nil
}

// Stats implements [scheduling.Lane]. All times are 0.
func (l *lane) Stats() scheduling.LaneStats {
	l.executor.mu.Lock()
	defer l.executor.mu.Unlock()
	s := scheduling.LaneStats{Queued: len(l.queue)}
	for kind, tasks := range l.tasks {
		s.ByKind[kind].Tasks = tasks
	}
	return s
}

// Close implements [scheduling.Lane]. It runs what is queued on the lane.
func (l *lane) Close(ctx context.Context) error {
	e := l.executor
	e.mu.Lock()
	l.closed = true
	e.mu.Unlock()
	if callers.Include(taskRunner) {
		return nil
	}
	for {
		e.mu.Lock()
		if !l.running && len(l.queue) == 0 {
			e.mu.Unlock()
			return nil
		}
		if !l.running {
			i := l.queue[0]
			e.begin(i, false)
			e.mu.Unlock()
			e.run(i)
			continue
		}
		if l.ended == nil {
			l.ended = make(chan struct{})
		}
		ended := l.ended
		e.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return fmt.Errorf("stepping: close lane %q: %d tasks left: %w", l.name, l.Stats().Queued, context.Cause(ctx))
		}
	}
}

// taskRunner is the function that calls the tasks of lanes.
const taskRunner = "github.com/tidemark-engine/tidemark/scheduling/stepping.(*Executor).call"

// begin takes an item from where it waits and notes it. Called with the lock.
func (e *Executor) begin(i *item, inCaller bool) {
	e.history.add(i, inCaller)
	if i.lane == nil {
		at := slices.Index(e.work, i)
		e.work = slices.Delete(e.work, at, at+1)
		return
	}
	i.lane.running = true
	if !inCaller {
		i.lane.queue[0] = nil
		i.lane.queue = i.lane.queue[1:]
	}
}

// run runs an item that was begun.
func (e *Executor) run(i *item) {
	if i.lane == nil {
		scheduling.RunHere(i.task)
		return
	}
	defer func() { // also if the task panics or ends the goroutine
		l := i.lane
		e.mu.Lock()
		defer e.mu.Unlock()
		l.running = false
		if len(l.queue) > 0 {
			e.tell() // its next task may run now
		}
		l.tasks[i.kind]++
		if l.ended != nil {
			close(l.ended)
			l.ended = nil
		}
	}()
	e.call(i.task)
}

func (e *Executor) call(task scheduling.Task) { scheduling.RunHere(task) }
