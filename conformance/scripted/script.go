package scripted

import (
	"context"
	"sync"
)

// Op is a kind of call.
type Op uint8

// The kinds of calls. Append and Read mean one batch and one range read.
const (
	Create Op = iota
	Append
	Seal
	Open
	Read
	Delete
	Get
	List
	Put
	DeleteKey
	opCount
)

// Step is what happens to one call. The zero value lets it through.
type Step struct {
	// Hold is a gate before the call, HoldReply one between the call and its
	// answer.
	Hold, HoldReply *Gate
	// Before ends the call with that error and nothing done.
	Before error
	// After ends the call with that error although it was done.
	After error
	// Cut stores (append) or yields (read) only the first Keep entries. A cut
	// append needs After; with Tell its answer says how far it got.
	Cut  bool
	Keep int
	Tell bool
	// Lose keeps the answer for good, Repeat gives it twice (appends only).
	Lose, Repeat bool
	// Panic is the store's own bug: the call panics, nothing done.
	Panic bool
}

// Script decides what happens to calls. It may be used from any goroutine.
type Script struct {
	mu     sync.Mutex
	next   [opCount][]Step
	always [opCount]*Step
	choose func(Op) Step
	calls  [opCount]int
}

// Next queues steps for the next calls of a kind, one each.
func (s *Script) Next(op Op, steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[op] = append(s.next[op], steps...)
}

// Always sets the step for all calls of a kind that have none queued; nil takes
// that back.
func (s *Script) Always(op Op, step *Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always[op] = step
}

// Choose sets a func that is asked for calls that no step is given for; nil
// takes that back. It runs under a lock of the script.
func (s *Script) Choose(choose func(Op) Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choose = choose
}

// Calls returns how many calls of a kind have begun.
func (s *Script) Calls(op Op) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// step takes the step of the next call.
func (s *Script) step(op Op) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op]++
	switch {
	case len(s.next[op]) > 0:
		step := s.next[op][0]
		s.next[op] = s.next[op][1:]
		return step
	case s.always[op] != nil:
		return *s.always[op]
	case s.choose != nil:
		return s.choose(op)
	}
	return Step{}
}

// call runs a call that blocks through its step.
func (s *Script) call(ctx context.Context, op Op, do func() error) error {
	step := s.step(op)
	if err := step.Hold.wait(ctx); err != nil {
		return err
	}
	if step.Panic {
		panic("scripted panic")
	}
	if step.Before != nil {
		return step.Before
	}
	err := do()
	if err := step.HoldReply.wait(ctx); err != nil {
		return err
	}
	if err == nil {
		err = step.After
	}
	return err
}

// Gate holds calls until it is opened.
type Gate struct {
	// reached is closed when the first call came to the gate, opened when it is
	// open for good.
	reached, opened chan struct{}
	first           sync.Once

	mu   sync.Mutex // guards open and held
	open bool
	held []func()
}

// NewGate returns a closed gate.
func NewGate() *Gate {
	return &Gate{reached: make(chan struct{}), opened: make(chan struct{})}
}

// Reached is closed when the first call has come to the gate.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Open lets all calls through, those that come later too. Held answers are
// given here, in order.
func (g *Gate) Open() {
	g.mu.Lock()
	if g.open {
		g.mu.Unlock()
		return
	}
	g.open = true
	held := g.held
	g.held = nil
	g.mu.Unlock()
	close(g.opened)
	for _, answer := range held {
		answer()
	}
}

// wait blocks at the gate; a nil gate is open.
func (g *Gate) wait(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.first.Do(func() { close(g.reached) })
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass runs answer now, or when the gate opens.
func (g *Gate) pass(answer func()) {
	if g == nil {
		answer()
		return
	}
	g.first.Do(func() { close(g.reached) })
	g.mu.Lock()
	if !g.open {
		g.held = append(g.held, answer)
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	answer()
}
