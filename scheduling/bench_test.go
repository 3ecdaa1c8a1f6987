package scheduling

import (
	"fmt"
	"sync"
	"testing"
)

// copyTask is the task of all benchmarks: it copies 128 bytes into its lane's
// buffer.
type copyTask struct {
	buffer, from [128]byte
	ran          int
	pending      *sync.WaitGroup
}

func (t *copyTask) Run() {
	copy(t.buffer[:], t.from[:])
	t.ran++
	t.pending.Done()
}

// spread has submitters hand b.N tasks to keys in turn and waits until all have
// run.
func spread(b *testing.B, keys, submitters int, hand func(key int, task *copyTask)) {
	var pending, submitting sync.WaitGroup
	tasks := make([]copyTask, keys)
	for i := range tasks {
		tasks[i].pending = &pending
	}
	pending.Add(b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for s := range submitters {
		submitting.Go(func() {
			for i := s; i < b.N; i += submitters {
				hand(i%keys, &tasks[i%keys])
			}
		})
	}
	submitting.Wait()
	pending.Wait()
	b.StopTimer()
}

// BenchmarkFireAndForget compares a lane task with the same work under a mutex
// in the caller.
func BenchmarkFireAndForget(b *testing.B) {
	for _, keys := range []int{1, 10, 500} {
		for _, submitters := range []int{1, 2, 20, 500} {
			name := func(what string) string { return fmt.Sprintf("%s/lanes=%d/submitters=%d", what, keys, submitters) }
			b.Run(name("mutex"), func(b *testing.B) {
				locks := make([]sync.Mutex, keys)
				spread(b, keys, submitters, func(key int, task *copyTask) {
					locks[key].Lock()
					task.Run()
					locks[key].Unlock()
				})
			})
			for what, hand := range map[string]func(Lane, Kind, Task) error{"post": Lane.Post, "run": Lane.Run} {
				b.Run(name(what), func(b *testing.B) {
					lanes := benchLanes(b, keys)
					spread(b, keys, submitters, func(key int, task *copyTask) {
						if err := hand(lanes[key], KindAdd, task); err != nil {
							b.Error(err)
						}
					})
				})
			}
		}
	}
}

// BenchmarkTurns posts tasks of alternating kinds, each of which costs a look
// at the clock.
func BenchmarkTurns(b *testing.B) {
	lanes, n := benchLanes(b, 1), 0
	spread(b, 1, 1, func(key int, task *copyTask) {
		n++
		if err := lanes[key].Post(KindAdd+Kind(n%2), task); err != nil {
			b.Error(err)
		}
	})
}

// signal is a task that wakes whoever waits for it.
type signal chan struct{}

func (s signal) Run() { s <- struct{}{} }

// BenchmarkWait hands over a task and waits for it.
func BenchmarkWait(b *testing.B) {
	for what, hand := range map[string]func(Lane, Kind, Task) error{"post": Lane.Post, "run": Lane.Run} {
		b.Run(what, func(b *testing.B) {
			l, s := benchLanes(b, 1)[0], make(signal, 1)
			b.ReportAllocs()
			for b.Loop() {
				if err := hand(l, KindAdd, s); err != nil {
					b.Fatal(err)
				}
				<-s
			}
		})
	}
}

// BenchmarkGo hands over blocking work and waits for it.
func BenchmarkGo(b *testing.B) {
	p, s := newPool(b, nil), make(signal, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Go(s); err != nil {
			b.Fatal(err)
		}
		<-s
	}
}

func benchLanes(b *testing.B, count int) []Lane {
	p := newPool(b, func(c *PoolConfig) { c.MaxWaitingPerLane, c.MaxWaiting = 1<<30, 1<<30 })
	lanes := make([]Lane, count)
	for i := range lanes {
		lanes[i] = p.NewLane(fmt.Sprint(i))
	}
	return lanes
}
