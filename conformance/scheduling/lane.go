package scheduling

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/scheduling"
)

func checkClose(t *trial) error {
	lane := t.NewLane("demo")
	tasks := make([]counted, 300)
	var problems []error
	for i := range tasks {
		problems = append(problems, lane.Post(scheduling.KindAdd, &tasks[i]))
	}
	problems = append(problems, lane.Close(t.ctx))
	for i := range tasks {
		problems = append(problems, tasks[i].want("when Close returned", 1, 0))
	}
	late := new(counted)
	for name, hand := range map[string]func(scheduling.Kind, scheduling.Task) error{"Post": lane.Post, "Run": lane.Run} {
		if err := hand(scheduling.KindAdd, late); !errors.Is(err, scheduling.ErrClosed) {
			problems = append(problems, fmt.Errorf("%s after Close: %v, want ErrClosed", name, err))
		}
	}
	return errors.Join(append(problems, t.end("another lane", t.NewLane("other")), late.want("after Close", 0, 0), lane.Close(t.ctx))...)
}

func checkCloseFromTask(t *trial) error {
	own, other := t.NewLane("own"), t.NewLane("other")
	done, inside := make(chan struct{}), make(chan error, 1)
	err := own.Post(scheduling.KindAdd, scheduling.TaskFunc(func() {
		defer close(done)
		inside <- errors.Join(own.Close(t.ctx), other.Close(t.ctx))
	}))
	err = errors.Join(err, t.wait("Close from a task", done))
	if err != nil {
		return err
	}
	return errors.Join(<-inside, own.Close(t.ctx))
}

func checkLanePanic(t *trial) error {
	lane := t.NewLane("demo")
	failing := &counted{do: func() { panic("boom") }}
	behind := new(counted)
	return errors.Join(
		lane.Post(scheduling.KindAdd, failing), lane.Post(scheduling.KindAdd, behind), t.end("the lane", lane),
		within(t.ctx, "Run of a task that panics", func() { _ = lane.Run(scheduling.KindAdd, failing) }),
		lane.Run(scheduling.KindAdd, behind), t.end("the lane", lane),
		failing.want("a task that panics", 2, 2), behind.want("the task behind it", 2, 0))
}

func checkStats(t *trial) error {
	lane := t.NewLane("demo")
	var problems []error
	var want [scheduling.KindCount]int64
	for n := range 200 {
		kind := scheduling.Kind(n*n) % scheduling.KindCount
		hand := lane.Post
		if n%4 == 0 {
			hand = lane.Run
		}
		want[kind]++
		problems = append(problems, hand(kind, new(counted)))
	}
	problems = append(problems, lane.Close(t.ctx))
	s := lane.Stats()
	for kind, got := range s.ByKind {
		if got.Tasks != want[kind] {
			problems = append(problems, fmt.Errorf("%d tasks of kind %v counted, want %d", got.Tasks, scheduling.Kind(kind), want[kind]))
		}
	}
	if s.Queued != 0 {
		problems = append(problems, fmt.Errorf("%d tasks wait on a lane that has ended", s.Queued))
	}
	return errors.Join(problems...)
}

func checkMany(t *trial) error {
	const lanes, callers, each = 50, 4, 40
	var all [lanes]scheduling.Lane
	var tasks [lanes][callers][each]counted
	for i := range all {
		all[i] = t.NewLane("demo")
	}
	var problems [callers]error
	var handing sync.WaitGroup
	for c := range callers {
		handing.Go(func() {
			for n := range each {
				for i, lane := range all {
					hand := lane.Post
					if (c+n)%2 == 0 {
						hand = lane.Run
					}
					if err := hand(scheduling.KindAdd, &tasks[i][c][n]); err != nil {
						problems[c] = err
					}
				}
			}
		})
	}
	handing.Wait()
	found := problems[:]
	for i, lane := range all {
		found = append(found, lane.Close(t.ctx))
		for c := range callers {
			for n := range each {
				found = append(found, tasks[i][c][n].want("one of many", 1, 0))
			}
		}
	}
	return errors.Join(found...)
}

func checkWork(t *trial) error {
	const count = 20
	lane := t.NewLane("demo")
	once, done := countdown(3 * count)
	var first, second, posted [count]counted
	var handed [count]atomic.Pointer[error]
	var problems []error
	for i := range count {
		second[i].do, posted[i].do = once, once
		first[i].do = func() {
			if err := errors.Join(t.Go(&second[i]), lane.Post(scheduling.KindAdd, &posted[i])); err != nil {
				handed[i].Store(&err)
			}
			once()
		}
		problems = append(problems, t.Go(&first[i]))
	}
	if err := t.wait("work", done); err != nil {
		return errors.Join(append(problems, err)...)
	}
	for i := range count {
		if err := handed[i].Load(); err != nil {
			problems = append(problems, *err)
		}
		problems = append(problems, first[i].want("work", 1, 0), second[i].want("work of work", 1, 0), posted[i].want("a task of work", 1, 0))
	}
	return errors.Join(problems...)
}

func checkWorkPanic(t *trial) error {
	once, done := countdown(3)
	failing := &counted{do: func() { panic("boom") }, hear: once}
	err := errors.Join(t.Go(failing), t.Go(&counted{do: once}), t.Go(failing), t.wait("work", done))
	return errors.Join(err, failing.want("work that panics", 2, 2))
}
