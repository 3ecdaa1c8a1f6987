package ackset

import (
	"fmt"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Snapshot returns up to limit ranges, the oldest ones, and how many further
// ones were left out. A cursor that is restored from a snapshot gives the
// entries of ranges left out again.
func (s *Set) Snapshot(limit int) (ranges []Range, dropped int) {
	all := s.rangeCount()
	ranges = make([]Range, 0, min(all, max(limit, 0)))
	for r := range s.Ranges() {
		if len(ranges) == cap(ranges) {
			break
		}
		ranges = append(ranges, r)
	}
	return ranges, all - len(ranges)
}

// Restore replaces what the set holds by mark and ranges, as Snapshot gave
// them. Ranges that are no ranges, or do not rise, are [sdk.ErrCorrupt], and
// the set stays as it was. Ranges at or before mark are fine and say nothing.
func (s *Set) Restore(mark sdk.Position, ranges []Range) error {
	restored := New(mark, s.next)
	before := Range{Ledger: -1}
	for i, r := range ranges {
		rises := r.Ledger > before.Ledger || r.Ledger == before.Ledger && r.First > before.Last
		if !r.valid() || !rises {
			return fmt.Errorf("acknowledged range %d is %d:%d..%d behind %d:%d..%d: %w",
				i, r.Ledger, r.First, r.Last, before.Ledger, before.First, before.Last, sdk.ErrCorrupt)
		}
		before = r
	}
	for _, r := range ranges {
		restored.AddRange(r)
	}
	restored.Advance()
	*s = *restored
	return nil
}
