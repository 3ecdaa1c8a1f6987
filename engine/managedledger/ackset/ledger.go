package ackset

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/tidemark-engine/tidemark/sdk"
)

const (
	blockShift = 12
	blockSize  = 1 << blockShift // entries in a block
	blockMask  = blockSize - 1
)

// ledger holds the acknowledged entries of one ledger.
type ledger struct {
	id sdk.LedgerID
	// segments rise and do not overlap; none is empty, and full ones do not
	// touch each other.
	segments []segment
	// hot is the index of the segment that was added to last.
	hot int
	// count is the sum of the segments' counts.
	count int64
}

// segment is either one block of bits, some set and some clear, or a run of
// blocks that are acknowledged completely, without bits.
type segment struct {
	first, end int64 // block numbers, end excluded
	count      int64
	bits       *[blockSize / 64]uint64 // nil: full
}

// at returns the index of the first segment that ends behind block, which may
// be len(l.segments), and whether block lies in it.
func (l *ledger) at(block int64) (int, bool) {
	if l.hot < len(l.segments) {
		if h := &l.segments[l.hot]; h.first <= block && block < h.end {
			return l.hot, true
		}
	}
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].end > block })
	return i, i < len(l.segments) && l.segments[i].first <= block
}

// add sets the bits first to last and returns how many were clear.
func (l *ledger) add(first, last int64) int64 {
	head, tail := first>>blockShift, last>>blockShift
	if head == tail && last-first < blockMask {
		return l.addIn(head, first&blockMask, last&blockMask)
	}
	var added int64
	if first&blockMask != 0 {
		added += l.addIn(head, first&blockMask, blockMask)
		head++
	}
	if last&blockMask != blockMask {
		added += l.addIn(tail, 0, last&blockMask)
		tail--
	}
	if head <= tail {
		added += l.fill(head, tail+1)
	}
	return added
}

// addIn sets bits of one block.
func (l *ledger) addIn(block, first, last int64) int64 {
	i, found := l.at(block)
	if !found {
		l.segments = slices.Insert(l.segments, i, segment{first: block, end: block + 1, bits: new([blockSize / 64]uint64)})
	}
	l.hot = i
	s := &l.segments[i]
	if s.bits == nil {
		return 0
	}
	var added int64
	for w := first >> 6; w <= last>>6; w++ {
		set := mask(w, first, last) &^ s.bits[w]
		s.bits[w] |= set
		added += int64(bits.OnesCount64(set))
	}
	s.count += added
	l.count += added
	if s.count == blockSize {
		l.fill(block, block+1)
	}
	return added
}

// fill makes the blocks [first, end) full, joins them with full neighbours, and
// returns how many bits were clear.
func (l *ledger) fill(first, end int64) int64 {
	// Only the ends of the affected segments can stick out, and only full ones
	// are longer than a block, so what sticks out is full too. Looking one
	// block further on both sides finds the neighbours.
	i, _ := l.at(max(first-1, 0))
	if i < len(l.segments) && l.segments[i].end <= first && l.segments[i].bits != nil {
		i++
	}
	j := i
	var had int64
	for ; j < len(l.segments) && l.segments[j].first <= end; j++ {
		s := &l.segments[j]
		if s.first == end && s.bits != nil {
			break
		}
		first, end = min(first, s.first), max(end, s.end)
		had += s.count
	}
	full := segment{first: first, end: end, count: (end - first) << blockShift}
	l.segments = slices.Replace(l.segments, i, j, full)
	l.hot = i
	l.count += full.count - had
	return full.count - had
}

// clear clears the bits first to last and returns how many were set.
func (l *ledger) clear(first, last int64) int64 {
	before := l.count
	i, _ := l.at(max(first, 0) >> blockShift)
	for i < len(l.segments) && l.segments[i].first<<blockShift <= last {
		s := &l.segments[i]
		from, to := max(first, s.first<<blockShift), min(last, s.end<<blockShift-1)
		switch {
		case from > to:
			i++
		case from == s.first<<blockShift && to == s.end<<blockShift-1:
			l.count -= s.count
			l.segments = slices.Delete(l.segments, i, i+1)
		case s.bits == nil:
			i = l.split(i, from, to)
		default:
			i += l.clearIn(i, from&blockMask, to&blockMask)
		}
	}
	l.hot = 0
	return before - l.count
}

// clearIn clears bits of the block at index i, and removes it if none is left.
// It returns how far the next segment is from i.
func (l *ledger) clearIn(i int, first, last int64) int {
	s := &l.segments[i]
	for w := first >> 6; w <= last>>6; w++ {
		gone := mask(w, first, last) & s.bits[w]
		s.bits[w] &^= gone
		s.count -= int64(bits.OnesCount64(gone))
		l.count -= int64(bits.OnesCount64(gone))
	}
	if s.count > 0 {
		return 1
	}
	l.segments = slices.Delete(l.segments, i, i+1)
	return 0
}

// split clears the bits from..to in the full segment at index i by replacing
// it by what stays before and behind. It returns the index behind that.
func (l *ledger) split(i int, from, to int64) int {
	s := l.segments[i]
	l.segments = slices.Delete(l.segments, i, i+1)
	l.count -= s.count
	tail := len(l.segments) - i
	if from > s.first<<blockShift {
		l.add(s.first<<blockShift, from-1)
	}
	if to+1 < s.end<<blockShift {
		l.add(to+1, s.end<<blockShift-1)
	}
	return len(l.segments) - tail
}

// mask has the bits first to last of a block, as far as they lie in word w.
func mask(w, first, last int64) uint64 {
	m := ^uint64(0)
	if w == first>>6 {
		m <<= uint(first & 63)
	}
	if w == last>>6 {
		m &= ^uint64(0) >> uint(63-last&63)
	}
	return m
}
