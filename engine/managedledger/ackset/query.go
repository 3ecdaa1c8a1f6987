package ackset

import (
	"iter"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Contains reports whether the entry at p is acknowledged.
func (s *Set) Contains(p sdk.Position) bool {
	if !p.After(s.mark) {
		return true
	}
	l := s.find(p.Ledger)
	return l != nil && p.Entry >= 0 && l.nextClear(int64(p.Entry)) > int64(p.Entry)
}

// NextUnacked returns the first position at or behind from where an entry that
// is not acknowledged is or will be.
func (s *Set) NextUnacked(from sdk.Position) sdk.Position {
	if !from.After(s.mark) {
		from = s.next(s.mark)
	}
	for {
		l := s.find(from.Ledger)
		if l == nil || from.Entry < 0 {
			return from
		}
		clear := sdk.EntryID(l.nextClear(int64(from.Entry)))
		if clear == from.Entry {
			return from
		}
		from = s.next(sdk.Position{Ledger: from.Ledger, Entry: clear - 1})
	}
}

// FirstRun returns the first run of entries in within that are not
// acknowledged, cut at within.Last; false if all of them are.
func (s *Set) FirstRun(within Range) (Range, bool) {
	if within.Ledger < s.mark.Ledger {
		return Range{}, false
	}
	first := int64(max(within.First, 0))
	if within.Ledger == s.mark.Ledger {
		first = max(first, int64(s.mark.Entry)+1)
	}
	last := int64(within.Last)
	if l := s.find(within.Ledger); l != nil && first <= last {
		first = l.nextClear(first)
		if set, ok := l.nextSet(first); ok {
			last = min(last, set-1)
		}
	}
	return Range{within.Ledger, sdk.EntryID(first), sdk.EntryID(last)}, first <= last
}

// CountIn returns the number of acknowledged entries in (after, upTo] that lie
// beyond the mark-delete position. It costs one step per ledger and per 4,096
// entries of the two ledgers that the bounds lie in.
func (s *Set) CountIn(after, upTo sdk.Position) int64 {
	var n int64
	for _, l := range s.ledgers {
		switch {
		case l.id < after.Ledger:
			continue
		case l.id > upTo.Ledger:
			return n
		case l.id > after.Ledger && l.id < upTo.Ledger:
			n += l.count
			continue
		}
		first, last := int64(0), int64(MaxEntry)
		if l.id == after.Ledger {
			first = max(int64(after.Entry)+1, 0)
		}
		if l.id == upTo.Ledger {
			last = int64(upTo.Entry)
		}
		n += l.countIn(first, last)
	}
	return n
}

// Ranges yields the runs of acknowledged entries beyond the mark-delete
// position, oldest first, each as long as it can be within its ledger. The set
// must not change meanwhile.
func (s *Set) Ranges() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for _, l := range s.ledgers {
			for first, ok := l.nextSet(0); ok; {
				end := l.nextClear(first)
				if !yield(Range{l.id, sdk.EntryID(first), sdk.EntryID(end - 1)}) {
					return
				}
				first, ok = l.nextSet(end)
			}
		}
	}
}

// rangeCount returns the number of ranges that [Set.Ranges] yields. It costs a
// look at every 64 entries.
func (s *Set) rangeCount() int {
	n := 0
	for _, l := range s.ledgers {
		n += l.runs()
	}
	return n
}
