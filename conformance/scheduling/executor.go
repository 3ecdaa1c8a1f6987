package scheduling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/scheduling"
)

// Harness is what the suite needs of an executor.
type Harness struct {
	// Open makes a new one.
	Open func() (scheduling.Executor, error)
	// Wait returns when done is closed, having run what is handed over; or with
	// an error when ctx ends. nil waits only, for an executor that runs by
	// itself.
	Wait func(ctx context.Context, e scheduling.Executor, done <-chan struct{}) error
	// Close ends the executor; nil does nothing.
	Close func(ctx context.Context, e scheduling.Executor) error
}

// ExecutorClauses returns the table for executors and their lanes.
func ExecutorClauses() []Clause[Harness] {
	var all []Clause[Harness]
	for _, c := range []struct {
		id, sentence string
		check        func(*trial) error
	}{
		{"lane/order", "Tasks of a lane run one at a time, in the order in which they were taken, by Post or by Run.", checkOrder},
		{"lane/post-only-queues", "Post does not run the task on the calling goroutine.", checkPostOnlyQueues},
		{"lane/run-nested", "Run from a task of the same lane queues: it neither waits for itself nor runs out of order.", checkRunNested},
		{"lane/close", "Close refuses further tasks, and returns when those that were taken have run.", checkClose},
		{"lane/close-from-task", "Close from a task of a lane does not wait.", checkCloseFromTask},
		{"lane/panic", "A panic reaches the Failed of its task once; the tasks behind it run.", checkLanePanic},
		{"lane/stats", "A lane counts its tasks by kind, and those that wait.", checkStats},
		{"lane/many", "Lanes do not lose or double tasks, however many and whatever hands them over.", checkMany},
		{"go/runs", "Work runs exactly once and may hand over tasks and work.", checkWork},
		{"go/panic", "A panic of work reaches its Failed once; other work runs.", checkWorkPanic},
	} {
		all = append(all, Clause[Harness]{c.id, c.sentence, func(ctx context.Context, h Harness) error {
			return h.try(ctx, c.check)
		}})
	}
	return all
}

// trial is one check on one executor.
type trial struct {
	scheduling.Executor
	ctx     context.Context
	harness Harness
}

func (h Harness) try(ctx context.Context, check func(*trial) error) error {
	e, err := h.Open()
	if err != nil {
		return err
	}
	err = check(&trial{e, ctx, h})
	if h.Close != nil {
		err = errors.Join(err, h.Close(ctx, e))
	}
	return err
}

// wait waits for done.
func (t *trial) wait(what string, done <-chan struct{}) error {
	if t.harness.Wait != nil {
		if err := t.harness.Wait(t.ctx, t.Executor, done); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	select {
	case <-done:
		return nil
	case <-t.ctx.Done():
		return fmt.Errorf("%s: it does not end", what)
	}
}

// end waits until the lane has run all that was posted on it before.
func (t *trial) end(what string, lane scheduling.Lane) error {
	done := make(chan struct{})
	if err := lane.Post(scheduling.KindOther, scheduling.TaskFunc(func() { close(done) })); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return t.wait(what, done)
}

func checkOrder(t *trial) error {
	const tasks = 500
	lane := t.NewLane("demo")
	var ran journal
	var inside atomic.Int32
	var problems []error
	for n := range tasks {
		hand := lane.Post
		if n%3 == 0 {
			hand = lane.Run
		}
		problems = append(problems, hand(scheduling.Kind(n)%scheduling.KindCount, scheduling.TaskFunc(func() {
			if inside.Add(1) != 1 {
				ran.note(-1)
			}
			ran.note(n)
			inside.Add(-1)
		})))
	}
	problems = append(problems, t.end("the lane", lane))
	if got := ran.all(); len(got) != tasks || !slices.IsSorted(got) {
		problems = append(problems, fmt.Errorf("%d tasks ran, want %d, in this order: %v", len(got), tasks, got))
	}
	return errors.Join(problems...)
}

// checkPostOnlyQueues has the task wait for Post to return.
func checkPostOnlyQueues(t *trial) error {
	lane, returned := t.NewLane("demo"), make(chan struct{})
	err := within(t.ctx, "Post", func() {
		_ = lane.Post(scheduling.KindAdd, scheduling.TaskFunc(func() {
			select {
			case <-returned:
			case <-t.ctx.Done():
			}
		}))
		close(returned)
	})
	return errors.Join(err, t.end("the lane", lane))
}

func checkRunNested(t *trial) error {
	lane, nested := t.NewLane("demo"), make(chan error, 1)
	var ran journal
	note := func(n int) scheduling.Task { return scheduling.TaskFunc(func() { ran.note(n) }) }
	err := lane.Run(scheduling.KindAdd, scheduling.TaskFunc(func() {
		nested <- errors.Join(lane.Post(scheduling.KindAdd, note(2)), lane.Run(scheduling.KindAdd, note(3)))
		ran.note(1)
	}))
	// The lane's first end may stand before the nested tasks.
	err = errors.Join(err, t.end("the lane", lane), t.end("the lane", lane))
	if got := ran.all(); !slices.Equal(got, []int{1, 2, 3}) {
		return errors.Join(err, fmt.Errorf("ran %v, want the outer task 1 before what it handed over, 2 and 3", got))
	}
	return errors.Join(err, <-nested)
}
