// Package scheduling is the contracts of submission strategies and executors,
// executable: a table of clauses for each. Each clause has an id, the sentence
// that it checks, and the check.
//
// The tests of a strategy of your own call [RunStrategy], those of an executor
// call [RunExecutor]. [StrategyClauses] and [ExecutorClauses] are what they are
// made of, for another door to the same tables: a check returns an error that
// says what is wrong, and is not tied to package testing.
package scheduling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
)

// Clause is one sentence about a Subject: a strategy, or the harness of an
// executor.
type Clause[Subject any] struct {
	// ID is the clause's name: what it is about, then what is said of it.
	ID string
	// Sentence is what the contract says.
	Sentence string
	// Check returns what breaks the sentence, joined, or nil. What does not
	// come to an end before ctx ends is broken.
	Check func(ctx context.Context, subject Subject) error
}

// RunStrategy checks all clauses against a strategy, each as a subtest.
func RunStrategy(t *testing.T, s scheduling.Strategy) {
	t.Helper()
	run(t, StrategyClauses(), s)
}

// RunExecutor checks all clauses against an executor, each as a subtest.
func RunExecutor(t *testing.T, h Harness) {
	t.Helper()
	run(t, ExecutorClauses(), h)
}

func run[Subject any](t *testing.T, clauses []Clause[Subject], subject Subject) {
	t.Helper()
	for _, c := range clauses {
		t.Run(c.ID, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := c.Check(ctx, subject); err != nil {
				t.Errorf("broken: %s\n%v", c.Sentence, err)
			}
		})
	}
}

// counted is a task that counts what happens to it. It may be used from any
// goroutine.
type counted struct {
	runs, told atomic.Int32
	// do is what it does after counting its run, and hear after counting that it
	// was told of a panic; both may be nil.
	do, hear func()
	// wrong is an error that Failed got and should not have.
	wrong atomic.Pointer[error]
}

func (c *counted) Run() {
	c.runs.Add(1)
	if c.do != nil {
		c.do()
	}
}

func (c *counted) Failed(err error) {
	c.told.Add(1)
	if !errors.Is(err, scheduling.ErrPanicked) {
		c.wrong.Store(&err)
	}
	if c.hear != nil {
		c.hear()
	}
}

// want returns what is wrong with how often the task ran and failed.
func (c *counted) want(when string, runs, told int32) error {
	var problems []error
	if got := c.runs.Load(); got != runs {
		problems = append(problems, fmt.Errorf("%s: ran %d times, want %d", when, got, runs))
	}
	if got := c.told.Load(); got != told {
		problems = append(problems, fmt.Errorf("%s: heard of %d panics, want %d", when, got, told))
	}
	if err := c.wrong.Load(); err != nil {
		problems = append(problems, fmt.Errorf("%s: Failed got %v, which is not ErrPanicked", when, *err))
	}
	return errors.Join(problems...)
}

// journal is what ran, in order. It is safe even if a lane runs two tasks at
// once.
type journal struct {
	mu  sync.Mutex
	ran []int
}

func (j *journal) note(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ran = append(j.ran, n)
}

func (j *journal) all() []int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.ran)
}

// countdown returns a func that closes done when it is called for the n-th time.
func countdown(n int32) (once func(), done chan struct{}) {
	done = make(chan struct{})
	var left atomic.Int32
	left.Store(n)
	return func() {
		if left.Add(-1) == 0 {
			close(done)
		}
	}, done
}

// within calls f and returns an error if it does not return before ctx ends, or
// if it panics.
func within(ctx context.Context, what string, f func()) error {
	result := make(chan error, 1)
	go func() { // ends when f does
		defer func() {
			if v := recover(); v != nil {
				result <- fmt.Errorf("%s panics: %v", what, v)
			}
		}()
		f()
		result <- nil
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s does not return", what)
	}
}
