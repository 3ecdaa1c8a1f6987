package scheduling

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs f with a pool of one drainer on a clock that stands still
// unless a task sleeps, so that times are exact.
func inBubble(t *testing.T, f func(t *testing.T, p *Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config := DefaultPoolConfig()
		small(&config)
		p, err := NewPool(config)
		if err != nil {
			t.Fatal(err)
		}
		f(t, p)
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// last is a task that takes some time.
func takes(d time.Duration) Task { return TaskFunc(func() { time.Sleep(d) }) }

func TestBusyIsExact(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Pool) {
		l := p.NewLane("demo")
		var want [KindCount]KindStats
		for n := range 1000 {
			// Runs of one kind and turns from one to another, in all lengths.
			kind := Kind(n * n / 7 % int(KindCount))
			d := time.Duration(n%13) * time.Millisecond
			want[kind].Tasks++
			want[kind].Busy += d
			if err := l.Post(kind, takes(d)); err != nil {
				t.Fatal(err)
			}
			if n%100 == 99 {
				settled(t, l)
			}
		}
		settled(t, l)
		for n := range 10 {
			want[KindAdd].Tasks++
			want[KindAdd].Busy += time.Duration(n)
			if err := l.Run(KindAdd, takes(time.Duration(n))); err != nil {
				t.Fatal(err)
			}
		}
		for kind, got := range l.Stats().ByKind {
			if got.Tasks != want[kind].Tasks || got.Busy != want[kind].Busy {
				t.Errorf("%v: %+v, want %+v", Kind(kind), got, want[kind])
			}
		}
	})
}

// settled waits, inside a bubble, until the lane is idle.
func settled(t *testing.T, l Lane) {
	t.Helper()
	for l.Stats().Queued > 0 {
		time.Sleep(time.Millisecond)
		synctest.Wait()
	}
}

// TestWaitedOfFewTasks knows the waiting time of the first task of each kind.
func TestWaitedOfFewTasks(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Pool) {
		l := p.NewLane("demo")
		for _, kind := range []Kind{KindAdd, KindTrim, KindDispatch} {
			if err := l.Post(kind, takes(10*time.Millisecond)); err != nil {
				t.Fatal(err)
			}
		}
		settled(t, l)
		s := l.Stats()
		for kind, want := range map[Kind]time.Duration{KindAdd: 0, KindTrim: 10 * time.Millisecond, KindDispatch: 20 * time.Millisecond} {
			if got := s.ByKind[kind].Waited; got != want {
				t.Errorf("%v waited %v, want %v", kind, got, want)
			}
		}
		if err := l.Run(KindWake, takes(time.Second)); err != nil {
			t.Fatal(err)
		}
		if got := l.Stats().ByKind[KindWake]; got != (KindStats{Tasks: 1, Busy: time.Second}) {
			t.Errorf("a task that its caller ran: %+v", got)
		}
	})
}

// TestWaitedIsUnbiased posts bursts in which the waiting time grows from task
// to task and kinds take turns: a sample at regular places would be off.
func TestWaitedIsUnbiased(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Pool) {
		l := p.NewLane("demo")
		const bursts, tasks = 2000, 8
		var want [2]time.Duration
		for range bursts {
			for n := range 2 * tasks {
				want[n%2] += time.Duration(n) * time.Microsecond
				if err := l.Post(KindAdd+Kind(n%2), takes(time.Microsecond)); err != nil {
					t.Fatal(err)
				}
			}
			settled(t, l)
		}
		for n, want := range want {
			got := l.Stats().ByKind[KindAdd+Kind(n)].Waited
			if off := math.Abs(float64(got-want)) / float64(want); off > 0.1 {
				t.Errorf("%v waited %v, measured %v", KindAdd+Kind(n), want, got)
			}
		}
	})
}

// TestTurnEndsInTime has a lane with long tasks give way to another.
func TestTurnEndsInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Pool) {
		slow, quick := p.NewLane("slow"), p.NewLane("quick")
		for range turnTasks {
			if err := slow.Post(KindAdd, takes(10*time.Millisecond)); err != nil {
				t.Fatal(err)
			}
		}
		began, waited := time.Now(), make(chan time.Duration, 1)
		if err := quick.Post(KindAdd, TaskFunc(func() { waited <- time.Since(began) })); err != nil {
			t.Fatal(err)
		}
		// One look at the clock in 2*sampleEvery-1 tasks at least.
		if w := <-waited; w > 2*sampleEvery*10*time.Millisecond {
			t.Errorf("a task of another lane waited %v", w)
		}
	})
}

func TestWorkStats(t *testing.T) {
	inBubble(t, func(t *testing.T, p *Pool) {
		for range 3 {
			if err := p.Go(takes(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if s := p.Stats(); s.Workers != 1 || s.QueuedWork != 2 {
			t.Errorf("one of three tasks runs: %+v", s)
		}
		time.Sleep(4 * time.Second)
		if s := p.Stats(); s.Workers != 0 || s.QueuedWork != 0 || s.Work != (KindStats{Tasks: 3, Busy: 3 * time.Second, Waited: 3 * time.Second}) {
			t.Errorf("three tasks of a second, one after another: %+v", s)
		}
	})
}
