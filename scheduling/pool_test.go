package scheduling

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

// newPool makes a pool that the test closes at its end, and checks then that
// nothing is left of it.
func newPool(t testing.TB, change func(*PoolConfig)) *Pool {
	t.Helper()
	config := DefaultPoolConfig()
	if change != nil {
		change(&config)
	}
	p, err := NewPool(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if s := p.Stats(); s.Waiting != 0 || s.Workers != 0 || s.QueuedWork != 0 || s.ReadyLanes != 0 || s.Drainers != 0 {
			t.Errorf("the closed pool has %+v", s)
		}
	})
	return p
}

func small(c *PoolConfig) { c.Drainers, c.Workers = 1, 1 }

// post posts f, which must be taken.
func post(t testing.TB, l Lane, f func()) {
	t.Helper()
	if err := l.Post(KindOther, TaskFunc(f)); err != nil {
		t.Fatal(err)
	}
}

// settle waits until the lane has run all that was posted on it before.
func settle(t testing.TB, l Lane) {
	t.Helper()
	done := make(chan struct{})
	post(t, l, func() { close(done) })
	<-done
}

// hold keeps a lane busy until the returned func is called. It returns when the
// lane is.
func hold(t testing.TB, l Lane) (release func()) {
	t.Helper()
	began, released := make(chan struct{}), make(chan struct{})
	post(t, l, func() { close(began); <-released })
	<-began
	return sync.OnceFunc(func() { close(released) })
}

func TestConfig(t *testing.T) {
	if err := DefaultPoolConfig().Validate(); err != nil {
		t.Error(err)
	}
	_, err := NewPool(PoolConfig{Drainers: -1})
	for _, field := range []string{"Drainers", "Workers", "MaxWaitingPerLane", "MaxWaiting"} {
		if err == nil || !contains(err.Error(), "PoolConfig."+field) {
			t.Errorf("an empty config: %v, does not name %s", err, field)
		}
	}
}

func TestOrder(t *testing.T) {
	for _, drainers := range []int{1, 2, 8} {
		t.Run(fmt.Sprint(drainers), func(t *testing.T) {
			p := newPool(t, func(c *PoolConfig) { c.Drainers = drainers })
			const lanes, posters, tasks = 20, 4, 500
			var ran [lanes][posters]int // each lane's tasks touch their own row only
			var all [lanes]Lane
			for i := range all {
				all[i] = p.NewLane(fmt.Sprint(i))
			}
			var posting sync.WaitGroup
			for poster := range posters {
				posting.Go(func() {
					r := rand.New(rand.NewPCG(1, uint64(poster)))
					for n := range tasks {
						for i, l := range all {
							task := TaskFunc(func() {
								if ran[i][poster] != n {
									t.Errorf("lane %d, poster %d: task %d ran after %d", i, poster, n, ran[i][poster])
								}
								ran[i][poster] = n + 1
								if r := n % 7; r == i%7 {
									runtime.Gosched()
								}
							})
							hand := l.Post
							if r.IntN(2) == 0 {
								hand = l.Run
							}
							if err := hand(Kind(n%int(KindCount)), task); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			posting.Wait()
			for i, l := range all {
				settle(t, l)
				for poster, n := range ran[i] {
					if n != tasks {
						t.Errorf("lane %d, poster %d: %d tasks ran, want %d", i, poster, n, tasks)
					}
				}
			}
		})
	}
}

// TestS068OrderPerLane is the case as it was reported: many lanes at once, each
// in order, side by side.
func TestS068OrderPerLane(t *testing.T) {
	p := newPool(t, nil)
	const lanes, tasks = 50, 10_000
	var done sync.WaitGroup
	for i := range lanes {
		l, last := p.NewLane(fmt.Sprint(i)), -1
		done.Go(func() {
			for n := range tasks {
				post(t, l, func() {
					if last != n-1 {
						t.Errorf("task %d after %d", n, last)
					}
					last = n
					if rand.IntN(100) == 0 {
						runtime.Gosched()
					}
				})
			}
			settle(t, l)
			if last != tasks-1 {
				t.Errorf("the last task was %d", last)
			}
		})
	}
	done.Wait()
}

func TestLanesRunSideBySide(t *testing.T) {
	p := newPool(t, func(c *PoolConfig) { c.Drainers = 2 })
	// Each of two tasks waits for the other, which no task may do; here it
	// shows that both run at once.
	a, b, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	post(t, p.NewLane("a"), func() { close(a); <-b })
	post(t, p.NewLane("b"), func() { close(b); <-a; close(done) })
	<-done
}

// TestS065SubmitFromInside hands over tasks from tasks on a pool of one
// goroutine for each kind of work.
func TestS065SubmitFromInside(t *testing.T) {
	p := newPool(t, small)
	same, other := p.NewLane("same"), p.NewLane("other")
	const rounds = 2000
	done := make(chan struct{}, 3*rounds)
	finish := func() { done <- struct{}{} }
	for range rounds {
		post(t, same, func() {
			post(t, same, finish)
			post(t, other, finish)
			if err := p.Go(TaskFunc(func() { post(t, same, finish) })); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 * rounds {
		<-done
	}
}

func TestWorkFromInsideWork(t *testing.T) {
	p := newPool(t, small)
	done := make(chan struct{})
	var nest func(n int) Task
	nest = func(n int) Task {
		return TaskFunc(func() {
			if n == 0 {
				close(done)
			} else if err := p.Go(nest(n - 1)); err != nil {
				t.Error(err)
			}
		})
	}
	if err := p.Go(nest(100)); err != nil {
		t.Fatal(err)
	}
	<-done
}

// TestWorkDoesNotStarveLanes fills all goroutines for blocking work and the
// queue before them; lanes run all the same.
func TestWorkDoesNotStarveLanes(t *testing.T) {
	p := newPool(t, func(c *PoolConfig) { c.Drainers, c.Workers, c.MaxQueuedWork = 1, 3, 5 })
	block := make(chan struct{})
	defer close(block)
	for range 8 {
		if err := p.Go(TaskFunc(func() { <-block })); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Go(TaskFunc(func() {})); err != ErrFull {
		t.Errorf("work beyond the queue: %v, want ErrFull", err)
	}
	for i := range 100 {
		settle(t, p.NewLane(fmt.Sprint(i)))
	}
}

// TestFairness keeps one lane busy for ever; a cold one has its turn.
func TestFairness(t *testing.T) {
	p := newPool(t, small)
	hot, stop := p.NewLane("hot"), false
	var again func()
	turns := 0
	again = func() {
		turns++
		if !stop {
			post(t, hot, again)
			post(t, hot, func() {})
		}
	}
	post(t, hot, again)
	for i := range 100 {
		settle(t, p.NewLane(fmt.Sprint(i)))
	}
	post(t, hot, func() { stop = true })
	settle(t, hot)
	settle(t, hot) // what the hot lane posted before it saw stop
	if turns == 0 {
		t.Error("the hot lane did not run")
	}
}

func TestStrategies(t *testing.T) {
	p := newPool(t, small)
	l := p.NewLane("demo")
	release := hold(t, l)
	ran := make(chan string, 2)
	if err := OrderedExecutor().Submit(l, HandleClosed, TaskFunc(func() { ran <- "ordered" })); err != nil {
		t.Fatal(err)
	}
	if err := Direct().Submit(l, HandleWritable, TaskFunc(func() { ran <- "direct" })); err != nil {
		t.Fatal(err)
	}
	release()
	if first, second := <-ran, <-ran; first != "direct" || second != "ordered" {
		t.Errorf("%s ran before %s", first, second)
	}
}

func TestRegistry(t *testing.T) {
	r := Builtin()
	for _, name := range r.Names() {
		if s, err := r.Lookup(name); err != nil || s.Name() != name {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	_, err := r.Lookup("ordered")
	if !errors.Is(err, ErrUnknown) || !contains(err.Error(), "direct, ordered-executor") {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := r.With(Direct()); err == nil {
		t.Error("a name was taken twice")
	}
	if _, err := r.With(named("")); err == nil {
		t.Error("a strategy without a name was taken")
	}
	more, err := r.With(named("middle"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(more.Names(), r.Names(), len(more.All())); got != "[direct middle ordered-executor] [direct ordered-executor] 3" {
		t.Error(got)
	}
}

type named string

func (n named) Name() string                    { return string(n) }
func (n named) Submit(Lane, Handle, Task) error { return nil }

func TestPlacement(t *testing.T) {
	for _, p := range Placements() {
		if got, err := ParsePlacement(p.String()); err != nil || got != p {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
	if _, err := ParsePlacement("outline"); !errors.Is(err, ErrUnknown) || !contains(err.Error(), "inline, on-executor") {
		t.Errorf("unknown placement: %v", err)
	}
	if got := Placement(7).String(); got != "placement(7)" {
		t.Error(got)
	}
}
