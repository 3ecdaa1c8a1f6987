package scheduling

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/scheduling/stepping"
)

// StrategyClauses returns the table for submission strategies.
func StrategyClauses() []Clause[scheduling.Strategy] {
	return []Clause[scheduling.Strategy]{
		{"name/form", "A name is made of lower-case words joined by hyphens, and never changes.", checkName},
		{"submit/idle-lane", "On an idle lane start runs exactly once, for either kind of handle.", checkIdleLane},
		{"submit/busy-lane", "Behind a task that runs, and tasks that wait, start runs exactly once.", checkBusyLane},
		{"submit/does-not-wait", "Submit returns while the lane is busy, and does not wait for start.", checkDoesNotWait},
		{"submit/refused", "After an error start never runs; without one it runs, even if the lane is closed.", checkRefused},
		{"submit/from-a-lane-task", "A task of the same lane may submit.", checkFromTask},
		{"submit/panic", "A panic of start reaches its Failed once and nobody else, and the lane lives on.", checkPanic},
		{"submit/switched", "A change to or from any other strategy between two reads loses and doubles none.", checkSwitched},
		{"submit/concurrent", "Many goroutines may submit at once.", checkConcurrent},
	}
}

var handles = []scheduling.Handle{scheduling.HandleClosed, scheduling.HandleWritable}

func checkName(_ context.Context, s scheduling.Strategy) error {
	if name := s.Name(); !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(name) || name != s.Name() {
		return fmt.Errorf("the name is %q, then %q", name, s.Name())
	}
	return nil
}

// submit submits start, which is not run by the executor meanwhile, and checks
// that Submit returns.
func submit(ctx context.Context, s scheduling.Strategy, lane scheduling.Lane, handle scheduling.Handle, start scheduling.Task) (err error) {
	return errors.Join(within(ctx, "Submit", func() { err = s.Submit(lane, handle, start) }), err)
}

func checkIdleLane(ctx context.Context, s scheduling.Strategy) error {
	var problems []error
	for _, handle := range handles {
		e, start := stepping.New(), new(counted)
		problems = append(problems, submit(ctx, s, e.NewLane("demo"), handle, start))
		e.RunAll()
		problems = append(problems, start.want("on an idle lane", 1, 0))
	}
	return errors.Join(problems...)
}

func checkBusyLane(ctx context.Context, s scheduling.Strategy) error {
	e, before := stepping.New(), new(counted)
	lane := e.NewLane("demo")
	starts := make([]counted, 10)
	problems := []error{lane.Post(scheduling.KindAdd, before)}
	for i := range starts {
		problems = append(problems, submit(ctx, s, lane, handles[i%2], &starts[i]))
	}
	e.RunAll()
	problems = append(problems, before.want("the task before", 1, 0))
	for i := range starts {
		problems = append(problems, starts[i].want("on a busy lane", 1, 0))
	}
	return errors.Join(problems...)
}

// checkDoesNotWait uses a pool: on a stepping executor, where nothing runs,
// waiting and being slow look alike to the caller.
func checkDoesNotWait(ctx context.Context, s scheduling.Strategy) error {
	return onPool(ctx, func(p *scheduling.Pool) error {
		lane, began, release := p.NewLane("demo"), make(chan struct{}), make(chan struct{})
		problems := []error{lane.Post(scheduling.KindAdd, scheduling.TaskFunc(func() { close(began); <-release }))}
		<-began
		start := new(counted)
		problems = append(problems, submit(ctx, s, lane, scheduling.HandleClosed, start))
		close(release)
		problems = append(problems, lane.Close(ctx), start.want("once the lane is free", 1, 0))
		return errors.Join(problems...)
	})
}

// onPool calls check with a pool and closes it.
func onPool(ctx context.Context, check func(p *scheduling.Pool) error) error {
	p, err := scheduling.NewPool(scheduling.DefaultPoolConfig())
	if err != nil {
		return err
	}
	err = check(p)
	return errors.Join(err, p.Close(ctx))
}

func checkRefused(ctx context.Context, s scheduling.Strategy) error {
	var problems []error
	for when, refuse := range map[string]func(*stepping.Executor, scheduling.Lane){
		"on a closed lane":   func(_ *stepping.Executor, lane scheduling.Lane) { problems = append(problems, lane.Close(ctx)) },
		"on a full executor": func(e *stepping.Executor, _ scheduling.Lane) { e.Refuse(scheduling.ErrFull) },
	} {
		e, start := stepping.New(), new(counted)
		lane := e.NewLane("demo")
		refuse(e, lane)
		var err error
		problems = append(problems, within(ctx, "Submit", func() { err = s.Submit(lane, scheduling.HandleClosed, start) }))
		e.Refuse(nil)
		e.RunAll()
		runs := int32(1)
		if err != nil {
			runs = 0
			if !errors.Is(err, scheduling.ErrClosed) && !errors.Is(err, scheduling.ErrFull) {
				problems = append(problems, fmt.Errorf("%s: %w, which is not the lane's error", when, err))
			}
		}
		problems = append(problems, start.want(fmt.Sprintf("%s, Submit returned %v", when, err), runs, 0))
	}
	return errors.Join(problems...)
}

func checkFromTask(ctx context.Context, s scheduling.Strategy) error {
	return onPool(ctx, func(p *scheduling.Pool) error {
		lane, start, result := p.NewLane("demo"), new(counted), make(chan error, 1)
		err := lane.Post(scheduling.KindReadExtension, scheduling.TaskFunc(func() {
			result <- submit(ctx, s, lane, scheduling.HandleClosed, start)
		}))
		return errors.Join(err, <-result, lane.Close(ctx), start.want("from a task of the lane", 1, 0))
	})
}

func checkPanic(ctx context.Context, s scheduling.Strategy) error {
	e, start, after := stepping.New(), &counted{do: func() { panic("boom") }}, new(counted)
	lane := e.NewLane("demo")
	return errors.Join(
		submit(ctx, s, lane, scheduling.HandleClosed, start),
		submit(ctx, s, lane, scheduling.HandleClosed, after),
		within(ctx, "the lane", func() { e.RunAll() }),
		start.want("a start that panics", 1, 1),
		after.want("the start after it", 1, 0))
}

func checkSwitched(ctx context.Context, s scheduling.Strategy) error {
	e := stepping.New()
	lane, others := e.NewLane("demo"), scheduling.Builtin().All()
	starts := make([]counted, 100)
	var problems []error
	for i := range starts {
		chosen := s
		if i%3 > 0 {
			chosen = others[i%len(others)]
		}
		problems = append(problems, submit(ctx, chosen, lane, handles[i%2], &starts[i]))
		if i%7 == 0 {
			e.Step()
		}
	}
	e.RunAll()
	for i := range starts {
		problems = append(problems, starts[i].want("with changes between", 1, 0))
	}
	return errors.Join(problems...)
}

func checkConcurrent(ctx context.Context, s scheduling.Strategy) error {
	const submitters, each = 8, 200
	return onPool(ctx, func(p *scheduling.Pool) error {
		var starts [submitters][each]counted
		var results [submitters]error
		lanes := []scheduling.Lane{p.NewLane("a"), p.NewLane("b"), p.NewLane("c")}
		var submitting sync.WaitGroup
		for n := range submitters {
			submitting.Go(func() {
				for i := range each {
					if err := s.Submit(lanes[i%3], handles[i%2], &starts[n][i]); err != nil {
						results[n] = errors.Join(results[n], err)
					}
				}
			})
		}
		problems := []error{within(ctx, "Submit from many goroutines", submitting.Wait)}
		for _, lane := range lanes {
			problems = append(problems, lane.Close(ctx))
		}
		for n := range submitters {
			problems = append(problems, results[n])
			for i := range each {
				problems = append(problems, starts[n][i].want("one of many", 1, 0))
			}
		}
		return errors.Join(problems...)
	})
}
