package managedledger

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/scheduling/stepping"
	"github.com/tidemark-engine/tidemark/sdk"
)

// closeStepping closes a log whose executor is stepped by hand.
func closeStepping(t *testing.T, h *house, m *ManagedLedger, steps *stepping.Executor) {
	t.Helper()
	done := later(func() error { return m.Close(h.ctx()) })
	for {
		synctest.Wait()
		if len(done) > 0 {
			if err := <-done; err != nil {
				t.Errorf("close: %v", err)
			}
			return
		}
		steps.RunAll()
		time.Sleep(time.Second)
	}
}

// The store has stored an entry, and the lane has not heard of it: nobody sees
// it. Edge case 17.
func TestNothingIsVisibleBeforeTheLaneConfirmsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := stepping.New()
		h := newHouseOn(t, steps)
		m := h.open("log")
		h.addLater(m, "0")
		steps.RunAll()
		gate := scripted.NewGate()
		h.ledgers.Next(scripted.Append, scripted.Step{HoldReply: gate})
		second := h.addLater(m, "1")
		steps.RunAll()
		before := m.LastConfirmed()
		gate.Open() // the answer becomes a task of the lane
		if m.LastConfirmed() != before || len(second) != 0 {
			t.Errorf("LAC %s before the completion ran, want %s", m.LastConfirmed(), before)
		}
		if s := m.handles.writable.State(); s.LastConfirmed != before.Entry+1 {
			t.Errorf("the store is at %d", s.LastConfirmed)
		}
		steps.RunAll()
		if e := got(t, "add", second); e.err != nil || m.LastConfirmed() != e.r.Last() {
			t.Errorf("add: %v; LAC %s", e, m.LastConfirmed())
		}
		closeStepping(t, h, m, steps)
	})
}

// The lane takes no tasks for a while: what was taken in and what the store
// answered is not lost.
func TestLaneThatIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := stepping.New()
		h := newHouseOn(t, steps)
		m := h.open("log")
		h.addLater(m, "0")
		steps.RunAll()

		steps.Refuse(scheduling.ErrFull)
		first := h.addLater(m, "1")
		steps.Refuse(nil)
		steps.RunAll()
		if len(first) != 0 {
			t.Fatal("who told the lane?")
		}
		m.Maintain(time.Now())
		steps.RunAll()
		if e := got(t, "add", first); e.err != nil {
			t.Errorf("add: %v", e.err)
		}

		gate := scripted.NewGate()
		h.ledgers.Next(scripted.Append, scripted.Step{HoldReply: gate})
		second := h.addLater(m, "2")
		steps.RunAll()
		steps.Refuse(scheduling.ErrFull)
		gate.Open()
		steps.Refuse(nil)
		time.Sleep(time.Second)
		steps.RunAll()
		if e := got(t, "add", second); e.err != nil {
			t.Errorf("add: %v", e.err)
		}
		closeStepping(t, h, m, steps)
	})
}

// An executor that takes no work for a while ends adds with an error, and the
// log goes on once it does.
func TestExecutorThatIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := stepping.New()
		steps.RunInCaller(true)
		h := newHouseOn(t, &refusing{Executor: steps, refuse: true})
		x := h.settings.Executor.(*refusing)
		m := h.open("log")
		add := h.addLater(m, "0")
		for range 20 {
			steps.RunAll()
			time.Sleep(time.Second)
		}
		if e := got(t, "add", add); !errors.Is(e.err, sdk.ErrBusy) || errors.Is(e.err, sdk.ErrUnknownOutcome) {
			t.Errorf("add: %v", e.err)
		}
		x.refuse = false
		again := h.addLater(m, "0")
		steps.RunAll()
		if e := got(t, "add", again); e.err != nil {
			t.Errorf("add: %v", e.err)
		}
		closeStepping(t, h, m, steps)
	})
}

// refusing is an executor whose Go is full.
type refusing struct {
	*stepping.Executor
	refuse bool
}

func (r *refusing) Go(task scheduling.Task) error {
	if r.refuse {
		return scheduling.ErrFull
	}
	return r.Executor.Go(task)
}

// panics is a waiter with a bug of ours.
type panics struct{}

func (*panics) wake() { panic("a bug") }

func TestPanicOnTheLaneEndsThisOwnerOnly(t *testing.T) {
	h := newHouse(t)
	m := h.open("log")
	h.add(m, "0")
	m.waiters.add(&panics{})
	if _, err := m.Add(h.ctx(), []byte("1")); err != nil && !errors.Is(err, ErrFenced) {
		t.Errorf("add: %v", err)
	}
	eventually(t, m, "given up", func() bool { return m.State() == StateFenced })
	if _, err := m.Add(h.ctx(), []byte("2")); !errors.Is(err, ErrFenced) {
		t.Errorf("add afterwards: %v", err)
	}
	h.leave(m)
	m = h.open("log")
	defer h.close(m)
	if got := h.entries(m); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("stored %q", got)
	}
}

func TestCloseAfterTheExecutor(t *testing.T) {
	pool, err := scheduling.NewPool(scheduling.DefaultPoolConfig())
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseOn(t, pool)
	m := h.open("log")
	h.add(m, "0")
	if err := pool.Close(h.ctx()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Add(h.ctx(), []byte("1")); !errors.Is(err, sdk.ErrClosed) || errors.Is(err, sdk.ErrUnknownOutcome) {
		t.Errorf("add: %v", err)
	}
	if err := m.Close(h.ctx()); !errors.Is(err, sdk.ErrClosed) {
		t.Errorf("close: %v", err)
	}
}
