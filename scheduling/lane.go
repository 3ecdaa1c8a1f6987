package scheduling

import (
	"context"
	"errors"
)

// The errors of this package. They say that a task was not taken: it will
// never run, and whoever handed it over ends the operation it stood for.
var (
	// ErrClosed says that the lane or executor was closed.
	ErrClosed = errors.New("scheduling: closed")
	// ErrFull says that the bound on waiting tasks is reached.
	ErrFull = errors.New("scheduling: too many waiting tasks")
)

// Task is one piece of work. It is an interface and not a func so that a
// record that exists anyway (an add, a read) can be queued without a closure.
//
// A task on a lane is short and never blocks: it waits for no other task, no
// consumer and no medium. If Run panics, or ends its goroutine, that is caught,
// logged once and handed to the task's Failed method if it has one ([Failer]);
// the lane lives on. No lock of this package is held while a task runs.
type Task interface {
	Run()
}

// Failer is a task that wants to know that it panicked, to end its operation.
// Failed runs where Run ran, in its place in the lane's order. The error is a
// [*PanicError].
type Failer interface {
	Failed(err error)
}

// TaskFunc makes a Task of a func, for places where an allocation does not
// matter.
type TaskFunc func()

// Run calls f.
func (f TaskFunc) Run() { f() }

// Kind is what a lane task is for. Lanes measure their time by kind.
type Kind uint8

// The kinds of work on a lane.
const (
	KindOther Kind = iota
	KindAdd
	KindAddCompletion
	KindReadStart
	KindReadExtension
	KindDispatch
	KindWake
	KindTrim
	KindMetadata
	KindCount // the number of kinds
)

// String returns the kind's name as it stands in metrics and reports.
func (k Kind) String() string {
	return [...]string{
		"other", "add", "add-completion", "read-start", "read-extension",
		"dispatch", "wake", "trim", "metadata", "invalid",
	}[min(k, KindCount)]
}

// Lane is a serial queue of tasks: they run one at a time, in the order in
// which they were taken, each seeing all that the former did. Which goroutine
// runs them changes. All methods may be called from any goroutine, tasks of
// the same lane included.
//
// A task is taken if and only if the error is nil: then it runs exactly once,
// whatever happens to the lane; else never. Errors are the bare sentinels, as
// refusing must cost nothing; the caller knows what it wanted and wraps them.
type Lane interface {
	// Post queues a task and returns. It never runs it on the calling
	// goroutine and never blocks. [ErrClosed], [ErrFull].
	Post(kind Kind, task Task) error

	// Run is for a caller that would wait for the task anyway: if the lane is
	// idle the task runs here and now, in order, and the hand-over is saved;
	// otherwise, from a task of the lane too, it is queued as by Post. It must
	// not be called while holding a lock that a task of the lane may want.
	Run(kind Kind, task Task) error

	// Stats returns what the lane measured since it was made.
	Stats() LaneStats

	// Close refuses further tasks, lets the queued ones run, and returns when
	// the last has ended or ctx ends; in the latter case the error wraps the
	// cause, and the tasks still run. Called from a task of this or another
	// lane it closes without waiting, as tasks do not wait. Closing again waits
	// for the same end.
	Close(ctx context.Context) error
}

// Executor makes lanes and lends goroutines. *Pool is the real one; package
// stepping has one that a test moves by hand.
type Executor interface {
	// NewLane makes an idle lane, which costs no goroutine. The name is for
	// people and profiles; several lanes may have the same. A lane that is idle
	// and forgotten needs no Close.
	NewLane(name string) Lane

	// Go runs work that may block on a pooled goroutine. It does not block:
	// when all are taken the work waits in a bounded queue. Pieces of work have
	// no order among each other. A task is taken if and only if the error is
	// nil; the bare [ErrClosed], [ErrFull]. A panic is caught as on a lane. Work
	// that waits here never keeps lanes from running.
	Go(task Task) error
}
