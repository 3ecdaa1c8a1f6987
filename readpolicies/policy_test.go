package readpolicies

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// row is one sentence about both policies. An empty want stands for every
// value.
type row struct {
	sentence                                       string
	collected                                      string // none, some, all; several with a space
	atSnapshot, moreConfirmed, atBound, nextLedger string // yes, no or empty
	extend, complete                               Decision
}

// rows are tried in order; the first that matches counts.
var rows = []row{
	{sentence: "a read that has what was asked for is complete",
		collected: "all", extend: Complete, complete: Complete},
	{sentence: "at the caller's bound a read is complete, with entries or without",
		atBound: "yes", extend: Complete, complete: Complete},
	{sentence: "a read is complete, empty, when nothing more is confirmed",
		collected: "none", moreConfirmed: "no", extend: Complete, complete: Complete},
	{sentence: "a read with entries whose next ledger has no confirmed entry is complete",
		collected: "some", moreConfirmed: "no", nextLedger: "yes", extend: Complete, complete: Complete},
	{sentence: "a read with entries is complete when nothing more is confirmed",
		collected: "some", moreConfirmed: "no", extend: Complete, complete: Complete},
	{sentence: "extend goes on with what was confirmed during the read; complete-at-lac does not look at it",
		collected: "some", atSnapshot: "yes", moreConfirmed: "yes", nextLedger: "no", extend: ContinueOnLane, complete: Complete},
	{sentence: "the same if what was confirmed lies in another ledger",
		collected: "some", atSnapshot: "yes", moreConfirmed: "yes", nextLedger: "yes", extend: ContinueOnLane, complete: Complete},
	{sentence: "below the snapshot, at a gap or the edge of a cached piece, both go on",
		collected: "some", atSnapshot: "no", moreConfirmed: "yes", nextLedger: "no", extend: ContinueOnLane, complete: ContinueOnLane},
	{sentence: "below the snapshot, at the end of a closed or empty ledger, both go on in the next one",
		collected: "some", atSnapshot: "no", moreConfirmed: "yes", nextLedger: "yes", extend: ContinueOnLane, complete: ContinueOnLane},
	{sentence: "without entries both go on while something is confirmed, even beyond the snapshot",
		collected: "none", moreConfirmed: "yes", extend: ContinueOnLane, complete: ContinueOnLane},
}

func (r row) matches(p Progress) bool {
	flag := func(want string, is bool) bool { return want == "" || (want == "yes") == is }
	return (r.collected == "" || r.collected == amount(p)) && flag(r.atSnapshot, p.AtSnapshot) &&
		flag(r.moreConfirmed, p.MoreConfirmed) && flag(r.atBound, p.AtBound) && flag(r.nextLedger, p.NextLedger)
}

func amount(p Progress) string {
	switch {
	case p.Collected == 0:
		return "none"
	case p.Collected < p.Wanted:
		return "some"
	}
	return "all"
}

// everyProgress returns each combination of the flags with each amount.
func everyProgress() (all []Progress) {
	for _, amounts := range [][2]int{{1, 0}, {1, 1}, {2, 1}, {100, 0}, {100, 1}, {100, 99}, {100, 100}, {100, 101}} {
		for flags := range 16 {
			all = append(all, Progress{
				Wanted: amounts[0], Collected: amounts[1],
				AtSnapshot: flags&1 != 0, MoreConfirmed: flags&2 != 0, AtBound: flags&4 != 0, NextLedger: flags&8 != 0,
			})
		}
	}
	return all
}

func TestDecide(t *testing.T) {
	matched := make([]int, len(rows))
	for _, p := range everyProgress() {
		found := false
		for i, r := range rows {
			if !r.matches(p) {
				continue
			}
			found = true
			matched[i]++
			if got := ExtendOnExecutor().Decide(p); got != r.extend {
				t.Errorf("%s:\nextend-on-executor says %v to %+v, want %v", r.sentence, got, p, r.extend)
			}
			if got := CompleteAtLAC().Decide(p); got != r.complete {
				t.Errorf("%s:\ncomplete-at-lac says %v to %+v, want %v", r.sentence, got, p, r.complete)
			}
			break
		}
		if !found {
			t.Errorf("no sentence about %+v", p)
		}
	}
	for i, r := range rows {
		if matched[i] == 0 {
			t.Errorf("nothing checks: %s", r.sentence)
		}
	}
}

func TestDecisionNames(t *testing.T) {
	for d, want := range map[Decision]string{
		Complete: "complete", ContinueOnLane: "continue-on-lane", ContinueHere: "continue-here", 3: "invalid", 200: "invalid",
	} {
		if d.String() != want {
			t.Errorf("%d: %v, want %s", d, d, want)
		}
	}
}

func TestRegistry(t *testing.T) {
	r := Builtin()
	for _, name := range r.Names() {
		if p, err := r.Lookup(name); err != nil || p.Name() != name {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	_, err := r.Lookup("complete")
	if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "complete-at-lac, extend-on-executor") {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := r.With(CompleteAtLAC()); err == nil {
		t.Error("a name was taken twice")
	}
	if _, err := r.With(named("")); err == nil {
		t.Error("a policy without a name was taken")
	}
	more, err := r.With(named("delay"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(more.Names(), r.Names(), len(more.All())); got != "[complete-at-lac delay extend-on-executor] [complete-at-lac extend-on-executor] 3" {
		t.Error(got)
	}
}

type named string

func (n named) Name() string           { return string(n) }
func (named) Decide(Progress) Decision { return Complete }
