package scheduling

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/scheduling/stepping"
)

func poolOf(change func(*scheduling.PoolConfig)) Harness {
	return Harness{
		Open: func() (scheduling.Executor, error) {
			config := scheduling.DefaultPoolConfig()
			change(&config)
			return scheduling.NewPool(config)
		},
		Close: func(ctx context.Context, e scheduling.Executor) error { return e.(*scheduling.Pool).Close(ctx) },
	}
}

func steppingWith(change func(*stepping.Executor)) Harness {
	return Harness{
		Open: func() (scheduling.Executor, error) {
			e := stepping.New()
			change(e)
			return e, nil
		},
		Wait: func(ctx context.Context, e scheduling.Executor, done <-chan struct{}) error {
			return e.(*stepping.Executor).RunUntil(ctx, done)
		},
	}
}

func TestExecutors(t *testing.T) {
	for name, h := range map[string]Harness{
		"pool":                  poolOf(func(*scheduling.PoolConfig) {}),
		"pool of one":           poolOf(func(c *scheduling.PoolConfig) { c.Drainers, c.Workers = 1, 1 }),
		"pool of many":          poolOf(func(c *scheduling.PoolConfig) { c.Drainers = 16 }),
		"pool with labels":      poolOf(func(c *scheduling.PoolConfig) { c.ProfileLabels = true }),
		"stepping":              steppingWith(func(*stepping.Executor) {}),
		"stepping in caller":    steppingWith(func(e *stepping.Executor) { e.RunInCaller(true) }),
		"stepping at random":    steppingWith(func(e *stepping.Executor) { e.Seed(1) }),
		"stepping, random, run": steppingWith(func(e *stepping.Executor) { e.Seed(2); e.RunInCaller(true) }),
	} {
		t.Run(name, func(t *testing.T) { RunExecutor(t, h) })
	}
}

// faulty is a pool with a fault; so are its lanes.
type faulty struct {
	*scheduling.Pool
	lane func(scheduling.Lane) scheduling.Lane
	work func(p *scheduling.Pool, task scheduling.Task) error
}

func (f *faulty) NewLane(name string) scheduling.Lane {
	if f.lane == nil {
		return f.Pool.NewLane(name)
	}
	return f.lane(f.Pool.NewLane(name))
}

func (f *faulty) Go(task scheduling.Task) error {
	if f.work == nil {
		return f.Pool.Go(task)
	}
	return f.work(f.Pool, task)
}

// faultyLane is a lane whose methods the test replaces.
type faultyLane struct {
	scheduling.Lane
	post, run func(l scheduling.Lane, kind scheduling.Kind, task scheduling.Task) error
	close     func(l scheduling.Lane, ctx context.Context) error
}

func (l faultyLane) Post(kind scheduling.Kind, task scheduling.Task) error {
	if l.post == nil {
		return l.Lane.Post(kind, task)
	}
	return l.post(l.Lane, kind, task)
}

func (l faultyLane) Run(kind scheduling.Kind, task scheduling.Task) error {
	if l.run == nil {
		return l.Lane.Run(kind, task)
	}
	return l.run(l.Lane, kind, task)
}

func (l faultyLane) Close(ctx context.Context) error {
	if l.close == nil {
		return l.Lane.Close(ctx)
	}
	return l.close(l.Lane, ctx)
}

// deaf hides that a task wants to hear of its panic, and catches it.
func deaf(task scheduling.Task) scheduling.Task {
	return scheduling.TaskFunc(func() {
		defer func() { _ = recover() }()
		task.Run()
	})
}

// stack is a lane's tasks, of which the last comes first.
type stack struct {
	mu    sync.Mutex
	tasks []scheduling.Task
}

func (s *stack) post(l scheduling.Lane, kind scheduling.Kind, task scheduling.Task) error {
	s.mu.Lock()
	s.tasks = append(s.tasks, task)
	s.mu.Unlock()
	return l.Post(kind, scheduling.TaskFunc(func() {
		s.mu.Lock()
		last := len(s.tasks) - 1
		task := s.tasks[last]
		s.tasks = s.tasks[:last]
		s.mu.Unlock()
		task.Run()
	}))
}

// brokenExecutors has, for each clause, an executor that breaks it.
func brokenExecutors() map[string]*faulty {
	lanes := func(l faultyLane) func(scheduling.Lane) scheduling.Lane {
		return func(inner scheduling.Lane) scheduling.Lane {
			l.Lane = inner
			return l
		}
	}
	var calls atomic.Int32
	return map[string]*faulty{
		"lane/order": {lane: func(inner scheduling.Lane) scheduling.Lane { return faultyLane{Lane: inner, post: new(stack).post} }},
		"lane/post-only-queues": {lane: lanes(faultyLane{post: func(l scheduling.Lane, kind scheduling.Kind, task scheduling.Task) error {
			return l.Run(kind, task)
		}})},
		"lane/run-nested": {lane: lanes(faultyLane{run: func(_ scheduling.Lane, _ scheduling.Kind, task scheduling.Task) error {
			task.Run()
			return nil
		}})},
		"lane/close": {lane: lanes(faultyLane{close: func(scheduling.Lane, context.Context) error { return nil }})},
		"lane/close-from-task": {lane: lanes(faultyLane{close: func(l scheduling.Lane, ctx context.Context) error {
			done := make(chan error, 1)
			go func() { done <- l.Close(ctx) }()
			return <-done
		}})},
		"lane/panic": {lane: lanes(faultyLane{post: func(l scheduling.Lane, kind scheduling.Kind, task scheduling.Task) error {
			return l.Post(kind, deaf(task))
		}})},
		"lane/stats": {lane: lanes(faultyLane{run: func(l scheduling.Lane, _ scheduling.Kind, task scheduling.Task) error {
			return l.Run(scheduling.KindOther, task)
		}})},
		"lane/many": {lane: func(inner scheduling.Lane) scheduling.Lane {
			var posts sync.Map // one key: the lane has taken a task
			return faultyLane{Lane: inner, run: func(l scheduling.Lane, kind scheduling.Kind, task scheduling.Task) error {
				if _, again := posts.LoadOrStore("run", true); !again {
					return nil // loses its first one
				}
				return l.Run(kind, task)
			}}
		}},
		"go/runs": {work: func(p *scheduling.Pool, task scheduling.Task) error {
			if calls.Add(1) == 1 {
				return errors.Join(p.Go(task), p.Go(task))
			}
			return nil
		}},
		"go/panic": {work: func(p *scheduling.Pool, task scheduling.Task) error { return p.Go(deaf(task)) }},
	}
}

func TestExecutorClausesBite(t *testing.T) {
	broken := brokenExecutors()
	for _, c := range ExecutorClauses() {
		f, ok := broken[c.ID]
		if !ok {
			t.Errorf("%s: no broken executor shows that it bites", c.ID)
			continue
		}
		h := poolOf(func(*scheduling.PoolConfig) {})
		h.Open = func() (scheduling.Executor, error) {
			p, err := scheduling.NewPool(scheduling.DefaultPoolConfig())
			f.Pool = p
			return f, err
		}
		h.Close = func(context.Context, scheduling.Executor) error { return nil }
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := c.Check(ctx, h)
		cancel()
		if err == nil {
			t.Errorf("%s did not catch an executor that breaks it", c.ID)
		}
		if err := f.Pool.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if ids := idsOf(ExecutorClauses()); len(ids) != len(slices.Compact(ids)) {
		t.Errorf("an id stands twice: %v", ids)
	}
}

func idsOf[Subject any](clauses []Clause[Subject]) (ids []string) {
	for _, c := range clauses {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids
}
