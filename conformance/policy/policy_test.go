package policy

import (
	"sync/atomic"
	"testing"

	"github.com/tidemark-engine/tidemark/readpolicies"
)

// TestPolicies runs every policy of the registry.
func TestPolicies(t *testing.T) {
	for _, p := range readpolicies.Builtin().All() {
		t.Run(p.Name(), func(t *testing.T) { Run(t, p) })
	}
}

// other is a policy of somebody else: it goes on where it is and, at the
// snapshot, with a certain number of entries only.
type other struct{ enough int }

func (other) Name() string { return "some-are-enough" }

func (o other) Decide(p readpolicies.Progress) readpolicies.Decision {
	if p.Collected >= p.Wanted || p.AtBound || !p.MoreConfirmed || p.AtSnapshot && p.Collected > o.enough {
		return readpolicies.Complete
	}
	return readpolicies.ContinueHere
}

func TestOtherPolicy(t *testing.T) { Run(t, other{enough: 5}) }

// broken is a policy with one fault.
type broken struct {
	name   string
	decide func(p readpolicies.Progress) readpolicies.Decision
}

func (b broken) Name() string                                         { return b.name }
func (b broken) Decide(p readpolicies.Progress) readpolicies.Decision { return b.decide(p) }

// brokenPolicies has, for each clause, a policy that breaks it.
func brokenPolicies() map[string]broken {
	right := readpolicies.CompleteAtLAC().Decide
	var asked atomic.Int64
	// unless answers as it should, except for progress that matches.
	unless := func(match func(readpolicies.Progress) bool, answer readpolicies.Decision) broken {
		return broken{"broken", func(p readpolicies.Progress) readpolicies.Decision {
			if match(p) {
				return answer
			}
			return right(p)
		}}
	}
	return map[string]broken{
		"name/form":    {"Not This", right},
		"decide/valid": unless(func(p readpolicies.Progress) bool { return p.NextLedger }, 7),
		"decide/pure": unless(func(readpolicies.Progress) bool {
			return asked.Add(1)%97 == 0
		}, readpolicies.ContinueHere),
		"decide/enough":       unless(func(p readpolicies.Progress) bool { return p.Collected > p.Wanted && p.NextLedger }, readpolicies.ContinueOnLane),
		"decide/bound":        unless(func(p readpolicies.Progress) bool { return p.AtBound && p.Collected == 0 && p.MoreConfirmed }, readpolicies.ContinueHere),
		"decide/nothing-more": unless(func(p readpolicies.Progress) bool { return !p.MoreConfirmed && p.Collected == 0 }, readpolicies.ContinueOnLane),
		"decide/never-empty":  unless(func(p readpolicies.Progress) bool { return p.AtSnapshot && p.Collected == 0 }, readpolicies.Complete),
		"read/same-history": unless(func(p readpolicies.Progress) bool {
			return p.AtSnapshot && p.Collected == 0 && p.Wanted < 5
		}, readpolicies.Complete),
		"read/bound": unless(func(p readpolicies.Progress) bool { return p.AtBound && p.Collected > 0 }, readpolicies.ContinueHere),
	}
}

func TestClausesBite(t *testing.T) {
	broken := brokenPolicies()
	for _, c := range Clauses() {
		p, ok := broken[c.ID]
		if !ok {
			t.Errorf("%s: no broken policy shows that it bites", c.ID)
		} else if c.Check(p) == nil {
			t.Errorf("%s did not catch a policy that breaks it", c.ID)
		}
	}
}

// TestHistoriesDiffer checks that the histories reach what they are for.
func TestHistoriesDiffer(t *testing.T) {
	var seen struct{ several, snapshot, extended, gap, hop, bound int }
	watch := broken{"watch", func(p readpolicies.Progress) readpolicies.Decision {
		for _, c := range []struct {
			count *int
			is    bool
		}{
			{&seen.several, p.Collected > 1},
			{&seen.snapshot, p.AtSnapshot && p.Collected > 0},
			{&seen.extended, p.AtSnapshot && p.MoreConfirmed},
			{&seen.gap, !p.AtSnapshot && !p.NextLedger && p.Collected > 0 && p.Collected < p.Wanted},
			{&seen.hop, p.NextLedger && p.Collected > 0},
			{&seen.bound, p.AtBound},
		} {
			if c.is {
				*c.count++
			}
		}
		return readpolicies.ExtendOnExecutor().Decide(p)
	}}
	for seed := range uint64(100) {
		if err := newHistory(seed).readAll(watch, seed%2 == 0); err != nil {
			t.Error(err)
		}
	}
	for _, count := range []int{seen.several, seen.snapshot, seen.extended, seen.gap, seen.hop, seen.bound} {
		if count < 50 {
			t.Errorf("some kind of progress is rare: %+v", seen)
			break
		}
	}
}
