package stepping

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemark-engine/tidemark/scheduling"
)

// Step runs one task, see the package comment for which. It returns false if
// none may run.
func (e *Executor) Step() bool {
	return e.step(func(next []*item) *item {
		if e.random != nil {
			return next[e.random.IntN(len(next))]
		}
		return slices.MinFunc(next, func(a, b *item) int { return a.number - b.number })
	})
}

// StepLane runs the first task of a lane of that name. It returns false if
// none may run.
func (e *Executor) StepLane(name string) bool {
	return e.step(func(next []*item) *item {
		return first(next, func(i *item) bool { return i.lane != nil && i.lane.name == name })
	})
}

// StepWork runs the task that was handed to Go first. It returns false if there
// is none.
func (e *Executor) StepWork() bool {
	return e.step(func(next []*item) *item {
		return first(next, func(i *item) bool { return i.lane == nil })
	})
}

// StepTask runs the task of that number, which stands in Queued. It returns
// false if it does not wait any more, or waits behind another task of its lane.
func (e *Executor) StepTask(number int) bool {
	return e.step(func(next []*item) *item {
		return first(next, func(i *item) bool { return i.number == number })
	})
}

// RunAll steps until no task may run, and returns how many it ran. If that
// takes more than 200,000 steps it panics with the schedule: the tasks queue
// each other for ever.
func (e *Executor) RunAll() int {
	const enough = 200_000
	for steps := range enough {
		if !e.Step() {
			return steps
		}
	}
	panic("stepping: RunAll does not come to an end\n" + e.Schedule())
}

// RunUntil steps until done is closed, and waits for tasks that other
// goroutines hand over. If ctx ends before, it returns an error that shows the
// schedule.
func (e *Executor) RunUntil(ctx context.Context, done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		default:
		}
		if ctx.Err() == nil && e.Step() {
			continue
		}
		select {
		case <-done:
			return nil
		case <-e.arrived:
		case <-ctx.Done():
			return fmt.Errorf("stepping: %w after this schedule:\n%s", context.Cause(ctx), e.Schedule())
		}
	}
}

// step runs the task that choose returns, if any, of those that may run next.
// choose is called with the lock and not if there are none.
func (e *Executor) step(choose func(next []*item) *item) bool {
	e.mu.Lock()
	next := e.next()
	if len(next) == 0 {
		e.mu.Unlock()
		return false
	}
	chosen := choose(next)
	if chosen == nil {
		e.mu.Unlock()
		return false
	}
	e.begin(chosen, false)
	e.mu.Unlock()
	e.run(chosen)
	return true
}

// next returns the tasks that may run next, in an order that depends on the
// history only, and sweeps the list of lanes. Called with the lock.
func (e *Executor) next() []*item {
	var next []*item
	e.lanes = slices.DeleteFunc(e.lanes, func(l *lane) bool {
		if len(l.queue) > 0 && !l.running {
			next = append(next, l.queue[0])
		}
		l.listed = len(l.queue) > 0
		return !l.listed
	})
	return append(next, e.work...)
}

// first returns the item that was handed over first of those that match, or
// nil.
func first(items []*item, match func(*item) bool) (found *item) {
	for _, i := range items {
		if match(i) && (found == nil || i.number < found.number) {
			found = i
		}
	}
	return found
}

// Queued is one task that waits.
type Queued struct {
	// Number counts the tasks in the order in which they were handed over, from
	// 1.
	Number int
	// Lane is the name of its lane; Work says that it was handed to Go and has
	// none.
	Lane string
	Work bool
	Kind scheduling.Kind
	// Task is the task itself. Do not run it.
	Task scheduling.Task
}

// String returns the line that stands for the task in a schedule.
func (q Queued) String() string {
	if q.Work {
		return fmt.Sprintf("#%d work %s", q.Number, describe(q.Task))
	}
	return fmt.Sprintf("#%d lane %q %v %s", q.Number, q.Lane, q.Kind, describe(q.Task))
}

// Queued returns all tasks that wait, in the order in which they were handed
// over.
func (e *Executor) Queued() []Queued {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []Queued
	for _, l := range e.lanes {
		for _, i := range l.queue {
			all = append(all, i.queued())
		}
	}
	for _, i := range e.work {
		all = append(all, i.queued())
	}
	slices.SortFunc(all, func(a, b Queued) int { return a.Number - b.Number })
	return all
}

func (i *item) queued() Queued {
	q := Queued{Number: i.number, Kind: i.kind, Task: i.task, Work: i.lane == nil}
	if i.lane != nil {
		q.Lane = i.lane.name
	}
	return q
}
