package stepping

import (
	"math/rand/v2"
	"sync"

	"github.com/tidemark-engine/tidemark/scheduling"
)

// Executor is a [scheduling.Executor] whose tasks run when a test says so. Make
// one with [New].
type Executor struct {
	mu       sync.Mutex // guards all below and the lanes; not held while a task runs
	lanes    []*lane    // those with tasks, and others until they are swept
	work     []*item    // handed to Go
	inCaller bool
	refusal  error
	random   *rand.Rand // nil takes the oldest
	seed     uint64
	handed   int // tasks handed over
	history  history
	// arrived has a value when a task came, or may run now, since it was last
	// emptied.
	arrived chan struct{}
}

// item is one task that waits.
type item struct {
	task   scheduling.Task
	kind   scheduling.Kind
	lane   *lane // nil for work of Go
	number int   // in the order in which tasks were handed over
}

// New returns an executor without tasks. It needs no closing.
func New() *Executor { return &Executor{arrived: make(chan struct{}, 1)} }

// NewLane implements [scheduling.Executor]. Several lanes may have one name.
func (e *Executor) NewLane(name string) scheduling.Lane {
	return &lane{executor: e, name: name}
}

// Go implements [scheduling.Executor]: the task is queued and runs when it is
// stepped.
func (e *Executor) Go(task scheduling.Task) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refusal != nil {
		return e.refusal
	}
	e.work = append(e.work, e.item(task, scheduling.KindOther, nil))
	return nil
}

// Seed makes Step choose at random among the tasks that may run next; equal
// seeds choose alike.
func (e *Executor) Seed(seed uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seed, e.random = seed, rand.New(rand.NewPCG(seed, 0x7469_6465))
}

// RunInCaller says whether Run of an idle lane runs its task at once.
func (e *Executor) RunInCaller(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inCaller = on
}

// Refuse lets Post, Run and Go fail with err from now on; nil takes tasks again.
func (e *Executor) Refuse(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refusal = err
}

// item numbers a task that is about to be queued. Called with the lock.
func (e *Executor) item(task scheduling.Task, kind scheduling.Kind, l *lane) *item {
	e.handed++
	e.tell()
	return &item{task: task, kind: kind, lane: l, number: e.handed}
}

// tell lets RunUntil look again.
func (e *Executor) tell() {
	select {
	case e.arrived <- struct{}{}:
	default:
	}
}
