package scheduling

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrPanicked is in the chain of each error that stands for a panic of a task.
var ErrPanicked = errors.New("scheduling: a task panicked")

// errExited is the value of a task that ended its goroutine by
// [runtime.Goexit], as FailNow of a test does.
var errExited = errors.New("it ended its goroutine (runtime.Goexit)")

// PanicError is what a task hears in Failed about its panic. It wraps
// [ErrPanicked], and the panic's value if that is an error.
type PanicError struct {
	// Value is what the task panicked with.
	Value any
	// Stack is the goroutine's stack at the panic, as debug.Stack writes it.
	Stack []byte
}

// Error says what the task panicked with, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("%v: %v", ErrPanicked, e.Value) }

// Unwrap returns what the error wraps.
func (e *PanicError) Unwrap() []error {
	if err, ok := e.Value.(error); ok {
		return []error{ErrPanicked, err}
	}
	return []error{ErrPanicked}
}

// RunHere runs task on the calling goroutine, as a lane would: if it panics,
// its Failed hears of it and RunHere returns normally. A task that is no
// [Failer] could not end its operation, so its panic goes on to the caller.
func RunHere(task Task) {
	failer, ok := task.(Failer)
	if !ok {
		task.Run()
		return
	}
	ended := false
	defer func() {
		if !ended {
			failer.Failed(panicOf(recover()))
		}
	}()
	task.Run()
	ended = true
}

// panicOf makes an error of what recover returned in a deferred call of a
// function that did not reach its end.
func panicOf(value any) *PanicError {
	if value == nil {
		value = errExited
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// tell hands a panic to its task. If Failed panics as well, that is returned.
func tell(task Task, failure *PanicError) (second *PanicError) {
	failer, ok := task.(Failer)
	if !ok {
		return nil
	}
	ended := false
	defer func() {
		if !ended {
			second = panicOf(recover())
		}
	}()
	failer.Failed(failure)
	ended = true
	return nil
}
