package ackset

import "math/bits"

// nextClear returns the first clear bit at or behind entry.
func (l *ledger) nextClear(entry int64) int64 {
	i, found := l.at(entry >> blockShift)
	for ; found; found = i < len(l.segments) && l.segments[i].first == entry>>blockShift {
		s := &l.segments[i]
		if s.bits != nil {
			for w := entry & blockMask >> 6; w < blockSize/64; w++ {
				if clear := ^s.bits[w] & mask(w, entry&blockMask, blockMask); clear != 0 {
					return s.first<<blockShift + w<<6 + int64(bits.TrailingZeros64(clear))
				}
			}
		}
		entry = s.end << blockShift
		i++
	}
	return entry
}

// nextSet returns the first set bit at or behind entry; false if there is none.
func (l *ledger) nextSet(entry int64) (int64, bool) {
	i, _ := l.at(entry >> blockShift)
	for ; i < len(l.segments); i++ {
		s := &l.segments[i]
		entry = max(entry, s.first<<blockShift)
		if s.bits == nil {
			return entry, true
		}
		for w := entry & blockMask >> 6; w < blockSize/64; w++ {
			if set := s.bits[w] & mask(w, entry&blockMask, blockMask); set != 0 {
				return s.first<<blockShift + w<<6 + int64(bits.TrailingZeros64(set)), true
			}
		}
		entry = s.end << blockShift
	}
	return 0, false
}

// countIn returns the number of set bits in first..last.
func (l *ledger) countIn(first, last int64) int64 {
	if first > last {
		return 0
	}
	var n int64
	i, _ := l.at(first >> blockShift)
	for ; i < len(l.segments) && l.segments[i].first<<blockShift <= last; i++ {
		s := &l.segments[i]
		from, to := max(first, s.first<<blockShift), min(last, s.end<<blockShift-1)
		switch {
		case s.bits == nil:
			n += to - from + 1
		case to-from == blockMask:
			n += s.count
		default:
			for w := from & blockMask >> 6; w <= to&blockMask>>6; w++ {
				n += int64(bits.OnesCount64(s.bits[w] & mask(w, from&blockMask, to&blockMask)))
			}
		}
	}
	return n
}

// runs returns the number of runs of set bits.
func (l *ledger) runs() int {
	n := 0
	end := int64(-1) // the block behind the segment before, if its last bit is set
	for i := range l.segments {
		s := &l.segments[i]
		var before uint64 // the last bit of the word before
		if s.first == end {
			before = 1
		}
		if s.bits == nil {
			n += 1 - int(before)
			end = s.end
			continue
		}
		for _, w := range s.bits {
			n += bits.OnesCount64(w &^ (w<<1 | before))
			before = w >> 63
		}
		end = -1
		if before == 1 {
			end = s.end
		}
	}
	return n
}
