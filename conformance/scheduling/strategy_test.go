package scheduling

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

// TestStrategies runs every strategy of the registry.
func TestStrategies(t *testing.T) {
	for _, s := range scheduling.Builtin().All() {
		t.Run(s.Name(), func(t *testing.T) { RunStrategy(t, s) })
	}
}

// broken is a strategy with one fault.
type broken struct {
	name   string
	submit func(lane scheduling.Lane, handle scheduling.Handle, start scheduling.Task) error
}

func (b broken) Name() string { return b.name }

func (b broken) Submit(lane scheduling.Lane, handle scheduling.Handle, start scheduling.Task) error {
	return b.submit(lane, handle, start)
}

// brokenStrategies has, for each clause, a strategy that breaks it.
func brokenStrategies() map[string]broken {
	post := func(lane scheduling.Lane, start scheduling.Task) error {
		return lane.Post(scheduling.KindReadStart, start)
	}
	calls := 0
	return map[string]broken{
		"name/form": {name: "Not This", submit: func(lane scheduling.Lane, _ scheduling.Handle, start scheduling.Task) error {
			return post(lane, start)
		}},
		"submit/idle-lane": {submit: func(lane scheduling.Lane, handle scheduling.Handle, start scheduling.Task) error {
			if handle == scheduling.HandleWritable {
				return nil // forgets reads of the open ledger
			}
			return post(lane, start)
		}},
		"submit/busy-lane": {submit: func(lane scheduling.Lane, _ scheduling.Handle, start scheduling.Task) error {
			if lane.Stats().Queued > 0 {
				scheduling.RunHere(start) // and queues it all the same
			}
			return post(lane, start)
		}},
		"submit/does-not-wait": {submit: func(lane scheduling.Lane, _ scheduling.Handle, start scheduling.Task) error {
			done := make(chan struct{})
			err := post(lane, scheduling.TaskFunc(func() {
				scheduling.RunHere(start)
				close(done)
			}))
			if err == nil {
				<-done
			}
			return err
		}},
		"submit/refused": {submit: func(lane scheduling.Lane, _ scheduling.Handle, start scheduling.Task) error {
			err := post(lane, start)
			if err != nil {
				scheduling.RunHere(start) // and says that it will not run
			}
			return err
		}},
		"submit/from-a-lane-task": {submit: func(lane scheduling.Lane, _ scheduling.Handle, start scheduling.Task) error {
			if lane.Stats().ByKind[scheduling.KindReadExtension].Tasks == 0 && lane.Stats().Queued == 1 {
				return fmt.Errorf("the lane is busy")
			}
			return post(lane, start)
		}},
		"submit/panic": {submit: func(_ scheduling.Lane, _ scheduling.Handle, start scheduling.Task) error {
			start.Run() // lets the panic through
			return nil
		}},
		"submit/switched": {submit: func(lane scheduling.Lane, _ scheduling.Handle, start scheduling.Task) error {
			if calls++; calls%10 == 0 {
				return nil // now and then it loses one
			}
			return post(lane, start)
		}},
		"submit/concurrent": {submit: notSafe()},
	}
}

// notSafe has state: the task that came last, which is not always the caller's.
func notSafe() func(scheduling.Lane, scheduling.Handle, scheduling.Task) error {
	var last atomic.Pointer[scheduling.Task]
	return func(lane scheduling.Lane, _ scheduling.Handle, start scheduling.Task) error {
		last.Store(&start)
		runtime.Gosched()
		return lane.Post(scheduling.KindReadStart, *last.Load())
	}
}

// TestStrategyClausesBite checks that each clause catches its strategy.
func TestStrategyClausesBite(t *testing.T) {
	broken := brokenStrategies()
	for _, c := range StrategyClauses() {
		s, ok := broken[c.ID]
		if !ok {
			t.Errorf("%s: no broken strategy shows that it bites", c.ID)
			continue
		}
		if s.name == "" {
			s.name = "broken"
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if c.Check(ctx, s) == nil {
			t.Errorf("%s did not catch a strategy that breaks it", c.ID)
		}
		cancel()
	}
}
