// Package ackset holds what a cursor has acknowledged: a mark-delete position,
// at or before which everything is acknowledged, and beyond it the entries that
// were acknowledged one by one.
//
// It is pure: no clock, no goroutine, no lock. The individually acknowledged
// entries are kept in blocks of bits, so that a million single
// acknowledgements in any order cost some hundred KiB, and long runs cost
// nothing.
package ackset

import (
	"slices"
	"sort"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Successor returns the first position behind p where an entry is or will be:
// the next entry of the same ledger, or the first one of the next ledger that
// has entries or is open. If there is none it returns a position that was never
// acknowledged, for instance p.Next().
type Successor func(p sdk.Position) sdk.Position

// MaxEntry is the highest entry id that a Set takes. No ledger comes near.
const MaxEntry sdk.EntryID = 1<<40 - 1

// Range is the entries First to Last, both included, of one ledger.
type Range struct {
	Ledger      sdk.LedgerID
	First, Last sdk.EntryID
}

// Len returns the number of entries in the range.
func (r Range) Len() int64 { return int64(r.Last-r.First) + 1 }

func (r Range) valid() bool {
	return r.Ledger >= 0 && r.First >= 0 && r.First <= r.Last && r.Last <= MaxEntry
}

// Set is a mark-delete position and the entries acknowledged beyond it. No
// method may be called at the same time as another. The zero value is not
// useful; call [New].
type Set struct {
	next Successor
	mark sdk.Position
	// ledgers are those with acknowledged entries beyond mark, rising by id;
	// none is empty.
	ledgers []*ledger
	// hot is the index of the ledger that was added to last.
	hot int
	// count is the sum of the ledgers' counts.
	count int64
}

// New returns a set that has acknowledged everything at or before mark.
func New(mark sdk.Position, next Successor) *Set {
	return &Set{next: next, mark: clamp(mark)}
}

// clamp keeps the arithmetic on entry ids from overflowing.
func clamp(p sdk.Position) sdk.Position {
	p.Entry = min(max(p.Entry, sdk.NoEntry), MaxEntry)
	return p
}

// MarkDelete returns the position at or before which everything is
// acknowledged.
func (s *Set) MarkDelete() sdk.Position { return s.mark }

// Count returns the number of acknowledged entries beyond the mark-delete
// position. It costs nothing.
func (s *Set) Count() int64 { return s.count }

// Add acknowledges single entries and returns how many of them were not
// acknowledged before. Positions that name no entry (entry below 0 or above
// [MaxEntry]) are ignored. It does not know where the log ends: the caller
// refuses positions beyond the last add confirmed.
func (s *Set) Add(positions ...sdk.Position) int64 {
	var added int64
	for _, p := range positions {
		added += s.AddRange(Range{p.Ledger, p.Entry, p.Entry})
	}
	return added
}

// AddRange acknowledges a run of entries of one ledger and returns how many of
// them were not acknowledged before.
func (s *Set) AddRange(r Range) int64 {
	if !r.valid() || r.Ledger < s.mark.Ledger {
		return 0
	}
	if r.Ledger == s.mark.Ledger {
		if r.Last <= s.mark.Entry {
			return 0
		}
		r.First = max(r.First, s.mark.Entry+1)
		if s.count == 0 && r.First == s.mark.Entry+1 { // in order and nothing beyond: no bits needed
			s.mark.Entry = r.Last
			return r.Len()
		}
	}
	added := s.forAdd(r.Ledger).add(int64(r.First), int64(r.Last))
	s.count += added
	if r.First == 0 || r.Ledger == s.mark.Ledger && r.First == s.mark.Entry+1 {
		s.Advance()
	}
	return added
}

// Advance moves the mark-delete position over acknowledged entries that follow
// it. Adding does so by itself; call it when the way in which ledgers follow
// each other has changed: after a roll or a trim.
func (s *Set) Advance() {
	for s.count > 0 {
		p := s.next(s.mark)
		l := s.find(p.Ledger)
		if l == nil || p.Entry < 0 {
			return
		}
		end := sdk.EntryID(l.nextClear(int64(p.Entry))) - 1
		if end < p.Entry {
			return
		}
		s.setMark(sdk.Position{Ledger: p.Ledger, Entry: end})
	}
}

// MoveTo acknowledges everything at or before p and reports whether the
// mark-delete position moved. It never moves back.
func (s *Set) MoveTo(p sdk.Position) bool {
	p = clamp(p)
	if !p.After(s.mark) {
		return false
	}
	s.setMark(p)
	s.Advance()
	return true
}

// Reset forgets everything and begins again with mark, which may lie before or
// behind the present one.
func (s *Set) Reset(mark sdk.Position) {
	*s = *New(mark, s.next)
}

// Clip forgets the acknowledged entries behind last. A cursor that was restored
// does so with the last add confirmed: what comes there later is new.
func (s *Set) Clip(last sdk.Position) {
	last = clamp(last)
	for n := len(s.ledgers) - 1; n >= 0 && s.ledgers[n].id >= last.Ledger; n-- {
		l := s.ledgers[n]
		if l.id == last.Ledger {
			s.count -= l.clear(int64(last.Entry)+1, int64(MaxEntry))
		} else {
			s.count -= l.count
			l.count = 0
		}
		if l.count == 0 {
			s.ledgers = slices.Delete(s.ledgers, n, n+1)
		}
	}
	s.hot = 0
}

// setMark moves the mark-delete position forward to p and forgets what is
// covered by it.
func (s *Set) setMark(p sdk.Position) {
	s.mark = p
	gone := 0
	for _, l := range s.ledgers {
		if l.id > p.Ledger {
			break
		}
		if l.id == p.Ledger {
			s.count -= l.clear(0, int64(p.Entry))
			if l.count > 0 {
				break
			}
		} else {
			s.count -= l.count
		}
		gone++
	}
	if gone > 0 {
		s.ledgers = slices.Delete(s.ledgers, 0, gone)
		s.hot = max(s.hot-gone, 0)
	}
}

// find returns the ledger, nil if none of its entries is held.
func (s *Set) find(id sdk.LedgerID) *ledger {
	if i, found := s.index(id); found {
		return s.ledgers[i]
	}
	return nil
}

// index returns where the ledger is, or belongs.
func (s *Set) index(id sdk.LedgerID) (int, bool) {
	if s.hot < len(s.ledgers) && s.ledgers[s.hot].id == id {
		return s.hot, true
	}
	i := sort.Search(len(s.ledgers), func(i int) bool { return s.ledgers[i].id >= id })
	return i, i < len(s.ledgers) && s.ledgers[i].id == id
}

// forAdd returns the ledger, made if need be.
func (s *Set) forAdd(id sdk.LedgerID) *ledger {
	i, found := s.index(id)
	if !found {
		s.ledgers = slices.Insert(s.ledgers, i, &ledger{id: id})
	}
	s.hot = i
	return s.ledgers[i]
}
