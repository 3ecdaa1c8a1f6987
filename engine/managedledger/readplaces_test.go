package managedledger

import (
	"fmt"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine/managedledger/ackset"
	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/scheduling/stepping"
	"github.com/tidemark-engine/tidemark/sdk"
)

// stepped is a house on an executor that the test steps, without a cache, with a
// log that holds three entries.
func stepped(t *testing.T, blocking bool, strategy scheduling.Strategy) (*house, *stepping.Executor, *ManagedLedger) {
	steps := stepping.New()
	steps.RunInCaller(true)
	h := newHouseOn(t, steps)
	h.settings.Cache = uncached(t, steps)
	h.settings.Store.BlockingReads = blocking
	h.config.Submission = strategy
	m := h.open("log")
	if err := m.AddAsync([][]byte{[]byte("a"), []byte("b"), []byte("c")}, func(AddResult, error) {}); err != nil {
		t.Fatal(err)
	}
	steps.RunAll()
	return h, steps, m
}

// closeStepped closes a log on a goroutine of its own, which ends with it.
func closeStepped(h *house, steps *stepping.Executor, m *ManagedLedger) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.close(m)
	}()
	if err := steps.RunUntil(h.ctx(), done); err != nil {
		h.t.Error(err)
	}
}

// Where a storage read is started: where the strategy says; but if the store
// blocks, on a goroutine that may wait.
func TestWhereStorageReadsStart(t *testing.T) {
	for _, c := range []struct {
		name             string
		blocking         bool
		strategy         scheduling.Strategy
		here, lane, work int // storage reads after the call, a step of the lane, one of work
	}{
		{"direct", false, scheduling.Direct(), 1, 1, 1},
		{"ordered", false, scheduling.OrderedExecutor(), 0, 1, 1},
		{"direct on a store that blocks", true, scheduling.Direct(), 0, 0, 1},
		{"ordered on a store that blocks", true, scheduling.OrderedExecutor(), 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, steps, m := stepped(t, c.blocking, c.strategy)
			defer closeStepped(h, steps, m)
			cursor := h.cursor(m, "c")
			var got []string
			err := cursor.ReadAsync(Max{Entries: 10}, ReadOptions{}, func(r ReadResult, _ error) { got = r.payloads() })
			if err != nil {
				t.Fatal(err)
			}
			reads := func(when string, want int) {
				t.Helper()
				if n := h.ledgers.Calls(scripted.Read); n != want {
					t.Errorf("%s: %d storage reads, want %d\n%s", when, n, want, steps.Schedule())
				}
			}
			reads("after the call", c.here)
			steps.StepLane("log")
			reads("after a step of the lane", c.lane)
			steps.StepWork()
			reads("after a step of work", c.work)
			steps.RunAll()
			equal(t, "read", got, []string{"a", "b", "c"})
		})
	}
}

// Somebody who waits reads on the own goroutine, also from a store that blocks.
func TestReadInTheCaller(t *testing.T) {
	for _, blocking := range []bool{false, true} {
		h, steps, m := stepped(t, blocking, scheduling.Direct())
		before := steps.Steps()
		equal(t, "read", texts(h.readAll(h.cursor(m, "c"), 2)), []string{"a", "b", "c"})
		r, err := m.Read(h.ctx(), m.Resolve(Earliest()), Max{Entries: 2})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "read without a cursor", r.payloads(), []string{"a", "b"})
		if n := steps.Steps() - before; n > 0 {
			t.Errorf("%d tasks ran\n%s", n, steps.Schedule())
		}
		closeStepped(h, steps, m)
	}
}

// Closing takes over a write that waits for the executor, so that it waits for
// nobody.
func TestCloseTakesAQueuedWriteOver(t *testing.T) {
	h, steps, m := stepped(t, false, scheduling.Direct())
	c := h.cursor(m, "c")
	answers := 0
	upTo := m.LastConfirmed()
	c.AcknowledgeAsync(nil, &upTo, func(err error) {
		if err != nil {
			t.Error(err)
		}
		answers++
	})
	before := h.metadata.Calls(scripted.Put)
	if err := c.Close(h.ctx()); err != nil {
		t.Fatal(err)
	}
	if answers != 1 {
		t.Errorf("answered %d times", answers)
	}
	steps.RunAll()
	if n := h.metadata.Calls(scripted.Put) - before; n != 1 || answers != 1 {
		t.Errorf("%d writes, %d answers", n, answers)
	}
	closeStepped(h, steps, m)
}

// wrong is a policy that always gives the same answer, be it one at all.
type wrong readpolicies.Decision

func (wrong) Name() string { return "wrong" }

func (w wrong) Decide(readpolicies.Progress) readpolicies.Decision { return readpolicies.Decision(w) }

func wrongPolicies() []readpolicies.Policy {
	return []readpolicies.Policy{wrong(readpolicies.Complete), wrong(readpolicies.ContinueOnLane), wrong(readpolicies.ContinueHere), wrong(99)}
}

// A wrong policy may make reads short or slow, but not empty, and never has them
// go beyond what may be read.
func TestWrongPolicies(t *testing.T) {
	for _, policy := range wrongPolicies() {
		h := newHouse(t)
		h.config.ReadPolicy = policy
		h.config.MaxEntriesPerLedger = 3
		m := h.open("log")
		where := h.add(m, numbered(0, 10)...)
		c := h.cursor(m, "c")
		ended := make(chan ReadResult, 1)
		skip := func(p sdk.Position) bool { return p.Before(where[7]) }
		err := c.ReadAsync(Max{Entries: 2}, ReadOptions{Skip: skip}, func(r ReadResult, err error) {
			if err != nil {
				t.Error(err)
			}
			ended <- r
		})
		if err != nil {
			t.Fatal(err)
		}
		first := got(t, "a read that skips a lot", ended).payloads()
		if len(first) == 0 {
			t.Errorf("policy %v: nothing handed over", policy)
		}
		equal(t, "read", append(first, texts(h.readAll(c, 100))...), numbered(7, 3))
		c.Rewind()
		equal(t, "read from the start", texts(h.readAll(c, 4)), numbered(0, 10))
		h.close(m)
	}
}

func TestWantedRun(t *testing.T) {
	in := func(first, last sdk.EntryID) ackset.Range { return ackset.Range{Ledger: 1, First: first, Last: last} }
	for _, c := range []struct {
		name  string
		acked []ackset.Range
		want  ackset.Range
	}{
		{"no hole", nil, in(0, 199)},
		{"a small hole", []ackset.Range{in(10, 40)}, in(0, 199)},
		{"small holes", []ackset.Range{in(10, 20), in(30, 40), in(50, 60)}, in(0, 199)},
		{"a large hole", []ackset.Range{in(10, 42)}, in(0, 9)},
		{"a small and a large one", []ackset.Range{in(10, 20), in(50, 90)}, in(0, 49)},
		{"a small one at the end", []ackset.Range{in(190, 300)}, in(0, 189)},
	} {
		set := ackset.New(sdk.Position{Ledger: 1, Entry: sdk.NoEntry}, sdk.Position.Next)
		for _, r := range c.acked {
			set.AddRange(r)
		}
		if run := wantedRun(set, in(0, 199)); run != c.want {
			t.Errorf("%s: %v, want %v", c.name, run, c.want)
		}
	}
}

// What is acknowledged in small holes is read with the rest and left out; a large
// hole is not read.
func TestHolesAndStorageReads(t *testing.T) {
	h := newHouse(t)
	h.settings.Cache = uncached(t, h.settings.Executor)
	m := h.open("log")
	defer h.close(m)
	where := h.add(m, numbered(0, 200)...)
	c := h.cursor(m, "c")
	var want []string
	for i := range where {
		switch {
		case i < 100 && i%2 == 1, i >= 100 && i < 150:
			if err := c.Acknowledge(h.ctx(), where[i]); err != nil {
				t.Fatal(err)
			}
		default:
			want = append(want, fmt.Sprint("entry ", i))
		}
	}
	before := h.ledgers.Calls(scripted.Read)
	equal(t, "read", texts(h.readAll(c, 200)), want)
	if n := h.ledgers.Calls(scripted.Read) - before; n != 2 {
		t.Errorf("%d storage reads, want 2", n)
	}
}
