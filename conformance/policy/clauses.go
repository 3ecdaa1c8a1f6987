package policy

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/tidemark-engine/tidemark/readpolicies"
)

// Clauses returns the whole table.
func Clauses() []Clause {
	return []Clause{
		{"name/form", "A name is made of lower-case words joined by hyphens, and never changes.", checkName},
		{"decide/valid", "The answer is one of the three decisions.", checkValid},
		{"decide/pure", "The answer depends on the progress alone, whatever was asked before and by whom.", checkPure},
		{"decide/enough", "A read that has what was asked for is complete.", completes(func(p readpolicies.Progress) bool { return p.Collected >= p.Wanted })},
		{"decide/bound", "A read that came to the caller's bound is complete.", completes(func(p readpolicies.Progress) bool { return p.AtBound })},
		{"decide/nothing-more", "A read does not wait for what is not confirmed.", completes(func(p readpolicies.Progress) bool { return !p.MoreConfirmed })},
		{"decide/never-empty", "A read without entries goes on while something may be read, snapshot or not.", checkNeverEmpty},
		{"read/same-history", "All reads of a history joined are the history: without gap, without double, and never past the last add confirmed.", checkHistory},
		{"read/bound", "With a bound, they are the history up to it.", checkBound},
	}
}

func checkName(p readpolicies.Policy) error {
	if name := p.Name(); !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(name) || name != p.Name() {
		return fmt.Errorf("the name is %q, then %q", name, p.Name())
	}
	return nil
}

// everyProgress returns each combination of the flags with several amounts.
func everyProgress() (all []readpolicies.Progress) {
	for _, amounts := range [][2]int{{1, 0}, {1, 1}, {2, 1}, {100, 0}, {100, 1}, {100, 50}, {100, 99}, {100, 100}, {100, 101}, {1 << 30, 1 << 20}} {
		for flags := range 16 {
			all = append(all, readpolicies.Progress{
				Wanted: amounts[0], Collected: amounts[1],
				AtSnapshot: flags&1 != 0, MoreConfirmed: flags&2 != 0, AtBound: flags&4 != 0, NextLedger: flags&8 != 0,
			})
		}
	}
	return all
}

func checkValid(p readpolicies.Policy) error {
	for _, progress := range everyProgress() {
		if d := p.Decide(progress); d > readpolicies.ContinueHere {
			return fmt.Errorf("it says %d to %+v", d, progress)
		}
	}
	return nil
}

func checkPure(p readpolicies.Policy) error {
	all := everyProgress()
	first := make([]readpolicies.Decision, len(all))
	for i, progress := range all {
		first[i] = p.Decide(progress)
	}
	const askers = 4
	var changed [askers]error
	var asking sync.WaitGroup
	for asker := range askers {
		asking.Go(func() {
			for n := range 3 * len(all) {
				i := n * (2*asker + 7) % len(all) // each asks in an order of its own
				if again := p.Decide(all[i]); again != first[i] {
					changed[asker] = fmt.Errorf("it says %v and then %v to %+v", first[i], again, all[i])
				}
			}
		})
	}
	asking.Wait()
	for _, err := range changed {
		if err != nil {
			return err
		}
	}
	return nil
}

// completes checks that all progress that matches is complete.
func completes(match func(readpolicies.Progress) bool) func(readpolicies.Policy) error {
	return func(p readpolicies.Policy) error {
		for _, progress := range everyProgress() {
			if d := p.Decide(progress); match(progress) && d != readpolicies.Complete {
				return fmt.Errorf("it says %v to %+v", d, progress)
			}
		}
		return nil
	}
}

func checkNeverEmpty(p readpolicies.Policy) error {
	for _, progress := range everyProgress() {
		open := progress.Collected == 0 && progress.MoreConfirmed && !progress.AtBound
		if d := p.Decide(progress); open && d == readpolicies.Complete {
			return fmt.Errorf("it says %v to %+v", d, progress)
		}
	}
	return nil
}

func checkHistory(p readpolicies.Policy) error {
	for seed := range uint64(500) {
		if err := newHistory(seed).readAll(p, false); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

func checkBound(p readpolicies.Policy) error {
	for seed := range uint64(500) {
		if err := newHistory(seed).readAll(p, true); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}
