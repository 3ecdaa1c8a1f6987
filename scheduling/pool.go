package scheduling

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Pool is the [Executor] of a running engine. Lanes that have tasks wait on one
// queue, from which up to one goroutine a core takes them; work that may block
// has goroutines of its own. An idle lane costs some 500 bytes and no
// goroutine. All methods may be called from any goroutine.
type Pool struct {
	config  PoolConfig
	logger  *slog.Logger
	clock   clock
	slabs   sync.Pool // of *slab
	workers *workers
	ready   ready
	work    work

	// taken counts the lane tasks that were taken and have not ended.
	taken atomic.Int64
	// closed refuses further lane tasks. Who took a task before it was set has
	// counted it before.
	closed atomic.Bool
	// idle is closed, once, when closed is set and taken is 0.
	idle     chan struct{}
	idleOnce sync.Once

	closing sync.Once
	done    chan struct{} // closed when all has ended
}

// NewPool starts a pool. Its caller closes it. The config is checked by
// [PoolConfig.Validate].
func NewPool(config PoolConfig) (*Pool, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Drainers == 0 {
		config.Drainers = runtime.GOMAXPROCS(0)
	}
	p := &Pool{
		config: config,
		logger: config.Logger,
		clock:  newClock(),
		slabs:  sync.Pool{New: newSlab},
		idle:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if p.workers, err = newWorkers(config.Drainers+config.Workers, p.logger); err != nil {
		return nil, err
	}
	p.work.pool = p
	p.ready.init(config.Drainers, func() { p.workers.start(newDrainer(p).live) })
	return p, nil
}

// NewLane implements [Executor].
func (p *Pool) NewLane(name string) Lane {
	l := &strand{pool: p, name: name}
	if p.config.ProfileLabels {
		l.labels = newLabels(name)
	}
	return l
}

// Go implements [Executor].
func (p *Pool) Go(task Task) error { return p.work.add(task) }

// admit counts a lane task or refuses it.
func (p *Pool) admit() error {
	if p.taken.Add(1) > int64(p.config.MaxWaiting) {
		p.ended(1)
		return ErrFull
	}
	if p.closed.Load() {
		p.ended(1)
		return ErrClosed
	}
	return nil
}

// ended takes tasks off the count.
func (p *Pool) ended(tasks int) {
	if p.taken.Add(int64(-tasks)) == 0 && p.closed.Load() {
		p.idleOnce.Do(func() { close(p.idle) })
	}
}

// panicked tells a task of its panic, and the logger.
func (p *Pool) panicked(lane string, kind Kind, task Task, failure *PanicError) {
	attributes := []any{"task", fmt.Sprintf("%T", task), "kind", kind.String(), "lane", lane}
	if lane == "" {
		attributes = attributes[:2]
	}
	p.logger.Error("a task panicked", append(attributes, "panic", fmt.Sprint(failure.Value), "stack", string(failure.Stack))...)
	if second := tell(task, failure); second != nil {
		p.logger.Error("a task panicked when it was told of its panic",
			append(attributes, "panic", fmt.Sprint(second.Value), "stack", string(second.Stack))...)
	}
}

// Close ends the pool: it refuses further work; work that was taken runs, and
// may post to lanes; then lanes refuse tasks too, and those that were taken run;
// then all goroutines end. Close returns when that is done, or when ctx ends:
// then it says what is left, and the rest goes on. Closing again waits for the
// same end. Called from a task of a lane or of Go it closes without waiting.
func (p *Pool) Close(ctx context.Context) error {
	p.closing.Do(func() { go p.shutDown() }) // ends when p.done is closed
	if insideTask() || insideWork() {
		return nil
	}
	select {
	case <-p.done:
		return nil
	default:
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		s := p.Stats()
		return fmt.Errorf("scheduling: close the pool: %d lane tasks and %d running and %d queued pieces of work left: %w",
			s.Waiting, s.Workers, s.QueuedWork, context.Cause(ctx))
	}
}

// shutDown ends all, in the order that Close promises.
func (p *Pool) shutDown() {
	defer close(p.done)
	<-p.work.close()
	p.closed.Store(true)
	if p.taken.Load() == 0 {
		p.idleOnce.Do(func() { close(p.idle) })
	}
	<-p.idle
	p.ready.stop()
	// The goroutines have nothing left to run; ants needs a moment to see it.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.workers.release(ctx); err != nil {
		p.logger.Error(err.Error())
	}
}

// PoolStats is what a pool does now, and what its Go did since it was made.
type PoolStats struct {
	// Waiting is the number of tasks taken by lanes that have not ended.
	Waiting int
	// ReadyLanes is the number of lanes that wait for a drainer. Drainers is
	// the number of drainers there are, IdleDrainers of those without a lane.
	ReadyLanes, Drainers, IdleDrainers int
	// Workers is the number of goroutines that run work of Go; QueuedWork is
	// the number of tasks that wait for one.
	Workers, QueuedWork int
	// Work sums up the tasks of Go.
	Work KindStats
}

// Stats returns what the pool does now.
func (p *Pool) Stats() PoolStats {
	s := PoolStats{Waiting: int(p.taken.Load())}
	p.ready.mu.Lock()
	s.ReadyLanes, s.Drainers, s.IdleDrainers = p.ready.count, p.ready.started, p.ready.parked
	p.ready.mu.Unlock()
	p.work.mu.Lock()
	defer p.work.mu.Unlock()
	s.Workers, s.QueuedWork, s.Work = p.work.running, p.work.queue.count, p.work.sum.stats()
	return s
}
