package stepping

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

// script is an executor with lanes whose tasks write down their names.
type script struct {
	*Executor
	t     *testing.T
	lanes map[string]scheduling.Lane
	ran   []string
}

func newScript(t *testing.T, lanes ...string) *script {
	s := &script{Executor: New(), t: t, lanes: map[string]scheduling.Lane{}}
	for _, name := range lanes {
		s.lanes[name] = s.NewLane(name)
	}
	return s
}

func (s *script) note(name string) scheduling.Task {
	return scheduling.TaskFunc(func() { s.ran = append(s.ran, name) })
}

// post queues tasks: "a1" on lane a, "go1" with Go.
func (s *script) post(names ...string) {
	s.t.Helper()
	for _, name := range names {
		var err error
		if strings.HasPrefix(name, "go") {
			err = s.Go(s.note(name))
		} else {
			err = s.lanes[name[:1]].Post(scheduling.KindAdd, s.note(name))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *script) want(names ...string) {
	s.t.Helper()
	if !slices.Equal(s.ran, names) {
		s.t.Fatalf("ran %v, want %v\n%s", s.ran, names, s.Schedule())
	}
}

func TestNothingRunsByItself(t *testing.T) {
	s := newScript(t, "a")
	s.post("a1", "go1")
	s.want()
	if s.StepLane("b") {
		t.Error("a lane that is not there was stepped")
	}
	for s.Step() {
	}
	s.want("a1", "go1")
}

func TestOldestFirst(t *testing.T) {
	s := newScript(t, "a", "b")
	s.post("b1", "a1", "go1", "a2", "b2", "go2")
	if n := s.RunAll(); n != 6 {
		t.Errorf("%d steps", n)
	}
	s.want("b1", "a1", "go1", "a2", "b2", "go2")
	if n := s.RunAll(); n != 0 {
		t.Errorf("%d steps of nothing", n)
	}
}

func TestTheTestChooses(t *testing.T) {
	s := newScript(t, "a", "b")
	s.post("a1", "a2", "b1", "go1", "go2", "go3")
	if !s.StepLane("b") || s.StepLane("b") {
		t.Error("lane b has one task")
	}
	if s.StepTask(2) {
		t.Error("a2 ran before a1")
	}
	if !s.StepTask(5) || s.StepTask(5) || !s.StepWork() || !s.StepLane("a") || !s.StepTask(2) || !s.StepWork() || s.StepWork() {
		t.Error("a step was refused")
	}
	s.want("b1", "go2", "go1", "a1", "a2", "go3")
	if s.Step() {
		t.Error("something is left")
	}
}

// TestSeed checks that a seed is one schedule, that seeds differ, that every
// order of work and lanes happens, and that lanes keep theirs.
func TestSeed(t *testing.T) {
	orders := map[string]int{}
	for seed := range uint64(300) {
		var first []string
		for range 2 {
			s := newScript(t, "a", "b")
			s.Seed(seed)
			s.post("a1", "a2", "b1", "go1")
			s.RunAll()
			if slices.Index(s.ran, "a1") > slices.Index(s.ran, "a2") {
				t.Fatalf("lane a lost its order: %v", s.ran)
			}
			if first != nil && !slices.Equal(first, s.ran) {
				t.Fatalf("seed %d: %v and %v", seed, first, s.ran)
			}
			first = s.ran
		}
		orders[fmt.Sprint(first)]++
	}
	if len(orders) != 12 { // 4 tasks, two of them in a fixed order
		t.Errorf("%d orders in 300 seeds, there are 12", len(orders))
	}
}

func TestTasksQueueTasks(t *testing.T) {
	s := newScript(t, "a", "b")
	post(t, s.lanes["a"], func() {
		s.post("a2", "b1")
		if !s.StepLane("b") {
			t.Error("a task could not step another lane")
		}
		if s.StepLane("a") {
			t.Error("a lane ran two tasks at once")
		}
		if err := s.lanes["a"].Run(scheduling.KindAdd, s.note("a3")); err != nil {
			t.Error(err)
		}
	})
	s.RunAll()
	s.want("b1", "a2", "a3")
}

func post(t *testing.T, l scheduling.Lane, f func()) {
	t.Helper()
	if err := l.Post(scheduling.KindOther, scheduling.TaskFunc(f)); err != nil {
		t.Fatal(err)
	}
}

func TestRunInCaller(t *testing.T) {
	s := newScript(t, "a")
	run := func(name string) {
		t.Helper()
		if err := s.lanes["a"].Run(scheduling.KindAdd, s.note(name)); err != nil {
			t.Fatal(err)
		}
	}
	run("queued")
	s.RunInCaller(true)
	run("behind")
	s.want()
	s.RunAll()
	run("here")
	s.want("queued", "behind", "here")
	s.RunInCaller(false)
	run("last")
	s.want("queued", "behind", "here")
	if got := s.lanes["a"].Stats(); got.Queued != 1 || got.ByKind[scheduling.KindAdd].Tasks != 3 {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(s.Schedule(), "in the caller of Run") {
		t.Error(s.Schedule())
	}
}

func TestRefuse(t *testing.T) {
	s := newScript(t, "a")
	l := s.lanes["a"]
	s.post("a1")
	s.Refuse(scheduling.ErrFull)
	s.RunInCaller(true)
	for name, hand := range map[string]func() error{
		"Post": func() error { return l.Post(scheduling.KindAdd, s.note("never")) },
		"Run":  func() error { return l.Run(scheduling.KindAdd, s.note("never")) },
		"Go":   func() error { return s.Go(s.note("never")) },
	} {
		if err := hand(); err != scheduling.ErrFull {
			t.Errorf("%s: %v", name, err)
		}
		s.RunAll()
		if err := hand(); err != scheduling.ErrFull {
			t.Errorf("%s of an idle lane: %v", name, err)
		}
	}
	s.Refuse(nil)
	s.post("a2")
	s.RunAll()
	s.want("a1", "a2")
}

func TestClose(t *testing.T) {
	s := newScript(t, "a", "b")
	s.post("a1", "a2", "b1")
	post(t, s.lanes["a"], func() {
		if err := s.lanes["a"].Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.lanes["b"].Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	s.post("a3")
	if err := s.lanes["a"].Close(t.Context()); err != nil {
		t.Error(err)
	}
	s.want("a1", "a2", "a3")
	for _, l := range s.lanes {
		if err := errors.Join(l.Post(scheduling.KindAdd, s.note("never")), l.Run(scheduling.KindAdd, s.note("never"))); !errors.Is(err, scheduling.ErrClosed) {
			t.Error(err)
		}
	}
	s.RunAll()
	s.want("a1", "a2", "a3", "b1")
}

// TestCloseWaits closes a lane whose task another goroutine runs.
func TestCloseWaits(t *testing.T) {
	s := newScript(t, "a")
	began, release := make(chan struct{}), make(chan struct{})
	post(t, s.lanes["a"], func() { close(began); <-release })
	s.post("a1")
	stepped := make(chan bool)
	go func() { stepped <- s.StepLane("a") }()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.lanes["a"].Close(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	closed := make(chan error)
	go func() { closed <- s.lanes["a"].Close(t.Context()) }()
	close(release)
	if err := <-closed; err != nil || !<-stepped {
		t.Error(err)
	}
	s.want("a1")
}

var errBackend = errors.New("bad backend")

type failing struct{ told []error }

func (f *failing) Run()             { panic(errBackend) }
func (f *failing) Failed(err error) { f.told = append(f.told, err) }

func TestPanics(t *testing.T) {
	s := newScript(t, "a")
	f := new(failing)
	if err := errors.Join(s.lanes["a"].Post(scheduling.KindAdd, f), s.Go(f)); err != nil {
		t.Fatal(err)
	}
	s.post("a1")
	s.RunAll()
	if len(f.told) != 2 || !errors.Is(f.told[0], errBackend) || !errors.Is(f.told[1], scheduling.ErrPanicked) {
		t.Errorf("told %v", f.told)
	}
	s.want("a1")
	post(t, s.lanes["a"], func() { panic("boom") })
	s.post("a2")
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the test did not see the panic")
			}
		}()
		s.RunAll()
	}()
	post(t, s.lanes["a"], runtime.Goexit)
	s.post("a3")
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.RunAll()
	}()
	<-done
	s.RunAll()
	s.want("a1", "a2", "a3")
}

func TestRunUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, "a")
		done := make(chan struct{})
		go func() { // a store that completes on its own
			synctest.Wait()
			s.post("a1")
			synctest.Wait()
			post(t, s.lanes["a"], func() { close(done) })
		}()
		if err := s.RunUntil(t.Context(), done); err != nil {
			t.Fatal(err)
		}
		s.want("a1")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errBackend)
		s.post("a2")
		err := s.RunUntil(ctx, nil)
		if !errors.Is(err, errBackend) || !strings.Contains(err.Error(), "waits: #3") {
			t.Errorf("ended context: %v", err)
		}
	})
}

// A lane whose task runs in the caller of Run gives none; when it has ended,
// what waits behind it is stepped.
func TestRunUntilALaneIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New()
		e.RunInCaller(true)
		lane := e.NewLane("a")
		hold, done := make(chan struct{}), make(chan struct{})
		go func() { // ends when hold is closed
			_ = lane.Run(scheduling.KindOther, scheduling.TaskFunc(func() { <-hold }))
		}()
		synctest.Wait()
		post(t, lane, func() { close(done) })
		go func() {
			time.Sleep(time.Second) // RunUntil waits
			close(hold)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := e.RunUntil(ctx, done); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRunAllGivesUp(t *testing.T) {
	s := newScript(t, "a")
	var again func()
	again = func() { post(t, s.lanes["a"], again) }
	again()
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "does not come to an end") || strings.Count(text, "\n") > remembered+10 {
			t.Errorf("an endless schedule: %.200s", text)
		}
	}()
	s.RunAll()
}

func TestScheduleReads(t *testing.T) {
	s := newScript(t, "a")
	s.Seed(7)
	post(t, s.lanes["a"], named)
	s.RunAll()
	if err := s.Go(new(failing)); err != nil {
		t.Fatal(err)
	}
	s.RunAll()
	post(t, s.lanes["a"], named)
	if err := s.Go(new(failing)); err != nil {
		t.Fatal(err)
	}
	const want = `seed 7
step 1: #1 lane "a" other stepping.named
step 2: #2 work *stepping.failing
waits: #3 lane "a" other stepping.named
waits: #4 work *stepping.failing
`
	if got := s.Schedule(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if s.Steps() != 2 {
		t.Errorf("%d steps", s.Steps())
	}
}

func named() {}
