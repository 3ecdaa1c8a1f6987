package policy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tidemark-engine/tidemark/readpolicies"
)

// place is an entry of a ledger.
type place struct{ ledger, entry int }

func (p place) after(o place) bool {
	return p.ledger > o.ledger || p.ledger == o.ledger && p.entry > o.entry
}

// history is a log that grows while it is read: a plain model of ledgers, a
// last add confirmed and acknowledged entries, that asks a policy as the engine
// does but does not clamp its answers.
type history struct {
	random  *rand.Rand
	ledgers []int // entries of each ledger; the last one is open
	acked   map[place]bool
	growth  int // entries that will still be confirmed
}

func newHistory(seed uint64) *history {
	h := &history{random: rand.New(rand.NewPCG(seed, 1)), acked: map[place]bool{}, ledgers: []int{0}}
	h.growth = h.random.IntN(60)
	h.grow(h.random.IntN(60))
	return h
}

// grow confirms entries, and rolls the ledger now and then, also an empty one.
func (h *history) grow(entries int) {
	for range entries {
		for h.random.IntN(8) == 0 {
			h.ledgers = append(h.ledgers, 0)
		}
		last := len(h.ledgers) - 1
		at := place{last, h.ledgers[last]}
		h.ledgers[last]++
		if h.random.IntN(4) == 0 {
			h.acked[at] = true
		}
	}
}

// confirmed is the last add confirmed: the last entry there is.
func (h *history) confirmed() place {
	for ledger := len(h.ledgers) - 1; ledger >= 0; ledger-- {
		if h.ledgers[ledger] > 0 {
			return place{ledger, h.ledgers[ledger] - 1}
		}
	}
	return place{0, -1}
}

// wanted returns the entries that readers are to get, up to the bound.
func (h *history) wanted(bound place) (all []place) {
	for ledger, entries := range h.ledgers {
		for entry := range entries {
			at := place{ledger, entry}
			if !h.acked[at] && !at.after(bound) {
				all = append(all, at)
			}
		}
	}
	return all
}

// readAll reads the history, while it grows and then to its end, and compares.
func (h *history) readAll(p readpolicies.Policy, bounded bool) error {
	bound := place{ledger: 1 << 30}
	if bounded {
		bound = place{h.random.IntN(len(h.ledgers)), h.random.IntN(10)}
	}
	var got []place
	var at place
	for reads := 0; ; reads++ {
		if reads > 1000 {
			return errors.New("a thousand reads did not come to the end")
		}
		entries, next, err := h.read(p, at, bound)
		if err != nil {
			return err
		}
		got = append(got, entries...)
		at = next
		if next := h.normal(at); h.growth == 0 && (next.after(h.confirmed()) || next.after(bound)) {
			break
		}
	}
	if want := h.wanted(bound); !slices.Equal(got, want) {
		return fmt.Errorf("read %v, want %v", got, want)
	}
	return nil
}

// normal moves a position at the end of a closed ledger to the next ledger.
func (h *history) normal(at place) place {
	for at.ledger < len(h.ledgers)-1 && at.entry >= h.ledgers[at.ledger] {
		at = place{at.ledger + 1, 0}
	}
	return at
}

// read is one read: ledger reads until the policy says that it is complete.
func (h *history) read(p readpolicies.Policy, at, bound place) (got []place, next place, err error) {
	wanted := 1 + h.random.IntN(20)
	for hops := 0; ; hops++ {
		if hops > 1000 {
			return nil, at, fmt.Errorf("a read of %d entries did not end after a thousand ledger reads; it holds %d", wanted, len(got))
		}
		at = h.normal(at)
		snapshot, ledger := h.confirmed(), at.ledger
		var run []place
		run, at = h.readLedger(at, snapshot, bound, wanted-len(got))
		got = append(got, run...)
		more := min(h.random.IntN(5), h.growth) // confirmed during the ledger read
		h.growth -= more
		h.grow(more)
		next := h.normal(at)
		progress := readpolicies.Progress{
			Wanted: wanted, Collected: len(got),
			AtSnapshot:    at.after(snapshot),
			MoreConfirmed: !next.after(h.confirmed()) && !next.after(bound),
			AtBound:       next.after(bound),
			NextLedger:    next.ledger != ledger,
		}
		if p.Decide(progress) != readpolicies.Complete {
			continue
		}
		if len(got) == 0 && progress.MoreConfirmed {
			return nil, at, fmt.Errorf("an empty read while %v may be read: %+v", next, progress)
		}
		return got, at, nil
	}
}

// readLedger returns the first run of entries that are not acknowledged, and
// where it ended.
func (h *history) readLedger(at, snapshot, bound place, most int) (run []place, end place) {
	for at.entry < h.ledgers[at.ledger] && !at.after(snapshot) && !at.after(bound) && len(run) < most {
		if h.acked[at] {
			if len(run) > 0 {
				break
			}
		} else {
			run = append(run, at)
		}
		at.entry++
	}
	return run, at
}
