package scheduling

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var errBackend = errors.New("bad backend")

// failing is a task that does as it is told and keeps what it hears.
type failing struct {
	do   func()
	told chan error
	// tellPanics lets Failed panic as well.
	tellPanics bool
}

func newFailing(do func()) *failing { return &failing{do: do, told: make(chan error, 1)} }

func (f *failing) Run() { f.do() }

func (f *failing) Failed(err error) {
	f.told <- err
	if f.tellPanics {
		panic("again")
	}
}

// logged is a pool whose log the test reads.
func logged(t *testing.T) (*Pool, func() string) {
	var mu sync.Mutex
	var log bytes.Buffer
	p := newPool(t, func(c *PoolConfig) {
		small(c)
		c.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))
	})
	return p, func() string {
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
}

type lockedWriter struct {
	mu  *sync.Mutex
	log *bytes.Buffer
}

func (w lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

// TestS067PanicEndsItsTask lets the task of entry k panic while k+1 waits.
func TestS067PanicEndsItsTask(t *testing.T) {
	p, log := logged(t)
	l := p.NewLane("demo")
	release := hold(t, l)
	k := newFailing(func() { panic(errBackend) })
	if err := l.Post(KindAdd, k); err != nil {
		t.Fatal(err)
	}
	next := make(chan struct{})
	post(t, l, func() { close(next) })
	release()
	err := <-k.told
	if failure := new(PanicError); !errors.Is(err, ErrPanicked) || !errors.Is(err, errBackend) ||
		!errors.As(err, &failure) || !contains(string(failure.Stack), "TestS067") {
		t.Errorf("the task was told %v", err)
	}
	<-next
	settle(t, l)
	if s := p.Stats(); s.Drainers != 1 {
		t.Errorf("%d drainers after a panic, want 1", s.Drainers)
	}
	if text := log(); strings.Count(text, "\n") != 1 || !contains(text, "bad backend") || !contains(text, "lane=demo") ||
		!contains(text, "kind=add") || !contains(text, "TestS067") {
		t.Errorf("the log has not one line with the stack:\n%s", text)
	}
}

// TestPanics has tasks end abnormally in each place and in each way.
func TestPanics(t *testing.T) {
	ways := map[string]func(){
		"panic":      func() { panic("boom") },
		"panic nil":  func() { panic(nil) },
		"nil memory": func() { var p *failing; p.do() },
		"Goexit":     runtime.Goexit,
	}
	places := map[string]func(p *Pool, l Lane, task Task) error{
		"post": func(_ *Pool, l Lane, task Task) error { return l.Post(KindOther, task) },
		"run":  func(_ *Pool, l Lane, task Task) error { return l.Run(KindOther, task) },
		"go":   func(p *Pool, _ Lane, task Task) error { return p.Go(task) },
	}
	for way, do := range ways {
		for place, hand := range places {
			for _, tellPanics := range []bool{false, true} {
				t.Run(way+"/"+place, func(t *testing.T) {
					p, log := logged(t)
					l := p.NewLane("demo")
					for range 3 {
						task := newFailing(do)
						task.tellPanics = tellPanics
						go hand(p, l, task)
						if err := <-task.told; !errors.Is(err, ErrPanicked) {
							t.Errorf("told %v", err)
						}
						settle(t, l)
						if err := p.Go(TaskFunc(do)); err != nil {
							t.Error(err)
						}
						done := make(chan struct{})
						if err := p.Go(TaskFunc(func() { close(done) })); err != nil {
							t.Fatal(err)
						}
						<-done
					}
					if err := p.Close(t.Context()); err != nil {
						t.Error(err)
					}
					want := 6
					if tellPanics {
						want = 9
					}
					if got := strings.Count(log(), "\n"); got != want {
						t.Errorf("%d log lines, want %d:\n%s", got, want, log())
					}
				})
			}
		}
	}
}

func TestRunHere(t *testing.T) {
	task := newFailing(func() { panic(errBackend) })
	RunHere(task)
	if err := <-task.told; !errors.Is(err, errBackend) {
		t.Error(err)
	}
	defer func() {
		if recover() != "boom" {
			t.Error("a panic that nobody hears of was swallowed")
		}
	}()
	RunHere(TaskFunc(func() { panic("boom") }))
}

// TestPanicStorm has every second task panic, on many lanes.
func TestPanicStorm(t *testing.T) {
	p := newPool(t, nil)
	var posting sync.WaitGroup
	for range 20 {
		posting.Go(func() {
			l, ran := p.NewLane(""), 0
			for n := range 500 {
				post(t, l, func() {
					ran++
					if n%2 == 0 {
						panic(n)
					}
				})
			}
			if err := l.Close(context.Background()); err != nil || ran != 500 {
				t.Errorf("%d of 500 tasks ran, %v", ran, err)
			}
		})
	}
	posting.Wait()
}
