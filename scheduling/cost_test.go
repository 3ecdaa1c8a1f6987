package scheduling

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
)

// TestIdleLanesCost bounds what 10,000 lanes cost that have run something and
// are idle now: no goroutine, and less than 1 KiB each.
func TestIdleLanesCost(t *testing.T) {
	const count = 10_000
	p := newPool(t, nil)
	heap := func() int64 {
		var m runtime.MemStats
		for range 3 { // a sync.Pool gives its content up after two collections
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	settle(t, p.NewLane(""))
	lanes := make([]Lane, count)
	goroutines, before := runtime.NumGoroutine(), heap()
	for i := range lanes {
		lanes[i] = p.NewLane("demo")
	}
	var pending sync.WaitGroup
	pending.Add(10 * count)
	for range 10 {
		for _, l := range lanes {
			post(t, l, pending.Done)
		}
	}
	pending.Wait()
	for _, l := range lanes {
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if each := (heap() - before) / count; each >= 1024 {
		t.Errorf("an idle lane costs %d bytes", each)
	} else {
		t.Logf("an idle lane costs %d bytes", each)
	}
	if more := runtime.NumGoroutine() - goroutines; more > runtime.GOMAXPROCS(0) {
		t.Errorf("%d goroutines more than before", more)
	}
	runtime.KeepAlive(lanes)
}

// TestNoAllocation checks that a task costs none once a pool is warm.
func TestNoAllocation(t *testing.T) {
	p := newPool(t, nil)
	l, s := p.NewLane("demo"), make(signal, 1)
	for name, hand := range map[string]func(Kind, Task) error{"post": l.Post, "run": l.Run} {
		allocations := testing.AllocsPerRun(1000, func() {
			if err := hand(KindAdd, s); err != nil {
				t.Fatal(err)
			}
			<-s
		})
		if allocations >= 1 && !raceDetector {
			t.Errorf("%s: %v allocations a task", name, allocations)
		}
	}
}

// TestProfileLabels looks at the labels of a goroutine in a task.
func TestProfileLabels(t *testing.T) {
	goroutines := func() string {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			t.Error(err)
		}
		return b.String()
	}
	for _, on := range []bool{false, true} {
		p := newPool(t, func(c *PoolConfig) { c.Drainers, c.ProfileLabels = 1, on })
		l := p.NewLane(fmt.Sprintf("labels-%v", on))
		for _, hand := range []func(Kind, Task) error{l.Post, l.Run} {
			for _, kind := range []Kind{KindAdd, KindTrim} {
				done := make(chan struct{})
				task := func() {
					defer close(done)
					want := fmt.Sprintf(`"lane":"labels-%v", "task":"%v"`, on, kind)
					if contains(goroutines(), want) != on {
						t.Errorf("labels %v: %s is not right in\n%s", on, want, goroutines())
					}
				}
				if err := hand(kind, TaskFunc(task)); err != nil {
					t.Fatal(err)
				}
				<-done
			}
		}
		for p.Stats().IdleDrainers < 1 {
			runtime.Gosched()
		}
		if contains(goroutines(), "labels-") {
			t.Errorf("an idle drainer has labels:\n%s", goroutines())
		}
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if contains(goroutines(), "labels-") {
			t.Errorf("labels are left over:\n%s", goroutines())
		}
	}
}
