package scheduling

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func TestBounds(t *testing.T) {
	p := newPool(t, func(c *PoolConfig) { c.Drainers, c.MaxWaitingPerLane, c.MaxWaiting = 1, 10, 15 })
	a, b := p.NewLane("a"), p.NewLane("b")
	release := hold(t, a)
	defer release()
	var ran atomic.Int32
	fill := func(l Lane) (taken int) {
		for l.Post(KindOther, TaskFunc(func() { ran.Add(1) })) == nil {
			taken++
		}
		if err := l.Post(KindOther, TaskFunc(func() {})); err != ErrFull {
			t.Errorf("beyond the bound: %v, want ErrFull", err)
		}
		if err := l.Run(KindOther, TaskFunc(func() {})); err != ErrFull {
			t.Errorf("Run beyond the bound: %v, want ErrFull", err)
		}
		return taken
	}
	if onA, onB := fill(a), fill(b); onA != 9 || onB != 5 {
		t.Errorf("a took %d beside the running one, b took %d; want 9 and 5", onA, onB)
	}
	if s := p.Stats(); s.Waiting != 15 || s.ReadyLanes != 1 {
		t.Errorf("full pool: %+v", s)
	}
	release()
	for p.Stats().Waiting > 0 {
		runtime.Gosched()
	}
	if ran.Load() != 14 {
		t.Errorf("%d tasks ran, want the 14 that were taken", ran.Load())
	}
	settle(t, a) // what was full takes tasks again
	settle(t, b)
	if err := errors.Join(a.Close(t.Context()), b.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestCloseLane(t *testing.T) {
	p := newPool(t, small)
	l := p.NewLane("demo")
	release := hold(t, l)
	ran := 0
	for range 1000 {
		post(t, l, func() { ran++ })
	}
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no patience")
	cancel(why)
	if err := l.Close(ended); !errors.Is(err, why) || !contains(err.Error(), `lane "demo"`) {
		t.Errorf("close of a busy lane: %v", err)
	}
	if err := l.Post(KindOther, TaskFunc(func() {})); err != ErrClosed {
		t.Errorf("post after close: %v", err)
	}
	if err := l.Run(KindOther, TaskFunc(func() {})); err != ErrClosed {
		t.Errorf("run after close: %v", err)
	}
	var closing sync.WaitGroup
	for range 5 {
		closing.Go(func() {
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if ran != 1000 {
				t.Errorf("Close returned after %d of 1000 tasks", ran)
			}
		})
	}
	release()
	closing.Wait()
	if err := l.Close(ended); err != nil {
		t.Errorf("close of a lane that has ended: %v", err)
	}
}

// TestCloseFromTask closes lanes and the pool from a task, drained and run by
// its caller.
func TestCloseFromTask(t *testing.T) {
	for name, hand := range map[string]func(Lane, Task) error{
		"post": func(l Lane, task Task) error { return l.Post(KindOther, task) },
		"run":  func(l Lane, task Task) error { return l.Run(KindOther, task) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, small)
			own, other := p.NewLane("own"), p.NewLane("other")
			done := make(chan struct{})
			err := hand(own, TaskFunc(func() {
				defer close(done)
				if err := errors.Join(own.Close(context.Background()), p.Close(context.Background())); err != nil {
					t.Error(err)
				}
				if err := own.Post(KindOther, TaskFunc(func() {})); err != ErrClosed {
					t.Errorf("post after close: %v", err)
				}
			}))
			if err != nil {
				t.Fatal(err)
			}
			<-done
			if err := errors.Join(own.Close(t.Context()), other.Close(t.Context()), p.Close(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseFromWork closes the pool from Go, and a lane, for which work may wait.
func TestCloseFromWork(t *testing.T) {
	p := newPool(t, small)
	l, ran, done := p.NewLane("demo"), false, make(chan struct{})
	err := p.Go(TaskFunc(func() {
		defer close(done)
		post(t, l, func() { ran = true })
		if err := l.Close(context.Background()); err != nil || !ran {
			t.Errorf("lane closed from work: %v, its task ran: %v", err, ran)
		}
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	<-done
}

// TestS066CloseReleasesCallers closes a pool whose workers are all taken. Nobody
// waits for a worker inside Go: a caller beyond the queue hears [ErrFull], one
// that comes after the close began [ErrClosed], and what was taken runs.
func TestS066CloseReleasesCallers(t *testing.T) {
	p := newPool(t, func(c *PoolConfig) { c.Drainers, c.Workers, c.MaxQueuedWork = 1, 1, 4 })
	block := make(chan struct{})
	var ran atomic.Int32
	for range 5 {
		if err := p.Go(TaskFunc(func() { <-block; ran.Add(1) })); err != nil {
			t.Fatal(err)
		}
	}
	refused := TaskFunc(func() { t.Error("a refused task ran") })
	if err := p.Go(refused); err != ErrFull {
		t.Errorf("with a full queue: %v, want ErrFull", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ended); !errors.Is(err, context.Canceled) || !contains(err.Error(), "1 running and 4 queued") {
		t.Errorf("close of a busy pool: %v", err)
	}
	for p.Go(refused) != ErrClosed { // the goroutine of Close has yet to refuse
		runtime.Gosched()
	}
	close(block)
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if ran.Load() != 5 {
		t.Errorf("%d tasks ran, want the 5 that were taken", ran.Load())
	}
}

// crowded keeps lanes short, so that those who post for ever leave time to
// others.
func crowded(c *PoolConfig) { c.MaxWaitingPerLane = 20 }

// TestCloseLaneRace closes a lane while tasks are posted: what was taken has run
// when Close returns.
func TestCloseLaneRace(t *testing.T) {
	p := newPool(t, crowded)
	for range 200 {
		l := p.NewLane("demo")
		var taken, ran atomic.Int64
		var posting sync.WaitGroup
		for range 2 {
			posting.Go(func() {
				for {
					switch l.Post(KindOther, TaskFunc(func() { ran.Add(1) })) {
					case nil:
						taken.Add(1)
					case ErrFull:
						runtime.Gosched()
					default:
						return
					}
				}
			})
		}
		for taken.Load() < 2 {
			runtime.Gosched()
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		atClose := ran.Load()
		posting.Wait()
		settle(t, p.NewLane("other"))
		if taken.Load() != atClose || ran.Load() != atClose {
			t.Fatalf("%d tasks taken, %d ran, %d when Close returned", taken.Load(), ran.Load(), atClose)
		}
	}
}

// TestClosePool checks that all that was taken ends, in the promised order.
func TestClosePool(t *testing.T) {
	p := newPool(t, func(c *PoolConfig) { c.Drainers, c.Workers = 2, 2 })
	var ran, posted atomic.Int32
	lanes := []Lane{p.NewLane("a"), p.NewLane("b"), p.NewLane("c")}
	block := make(chan struct{})
	for i := range 100 {
		l := lanes[i%3]
		err := p.Go(TaskFunc(func() {
			<-block
			if l.Post(KindOther, TaskFunc(func() { ran.Add(1) })) == nil {
				posted.Add(1)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ended); !errors.Is(err, context.Canceled) || !contains(err.Error(), "2 running") {
		t.Errorf("close of a busy pool: %v", err)
	}
	close(block)
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if posted.Load() != 100 || ran.Load() != 100 {
		t.Errorf("work posted %d tasks, %d ran; want 100 each", posted.Load(), ran.Load())
	}
	if err := errors.Join(p.Go(TaskFunc(func() {})), lanes[0].Post(KindOther, TaskFunc(func() {}))); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if err := p.Close(ended); err != nil {
		t.Errorf("close of a closed pool: %v", err)
	}
}

// TestCloseRace closes the pool while tasks are posted: each task that was
// taken runs before Close returns, each other one never.
func TestCloseRace(t *testing.T) {
	for round := range 400 {
		p := newPool(t, crowded)
		var taken, ran atomic.Int64
		var posting sync.WaitGroup
		begin := make(chan struct{})
		for range 1 + round%4 { // a single caller leaves the pool idle most often
			l := p.NewLane("")
			posting.Go(func() {
				<-begin
				for {
					hand := l.Post
					if (taken.Load()+int64(round))%3 > 0 {
						hand = l.Run
					}
					switch hand(KindOther, TaskFunc(func() { ran.Add(1) })) {
					case nil:
						taken.Add(1)
					case ErrFull:
						runtime.Gosched()
					default:
						return
					}
				}
			})
		}
		close(begin)
		for taken.Load() < 10 {
			runtime.Gosched()
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		atClose := ran.Load()
		posting.Wait()
		if taken.Load() != ran.Load() || atClose != ran.Load() {
			t.Fatalf("%d tasks taken, %d ran, %d when Close returned", taken.Load(), ran.Load(), atClose)
		}
	}
}
