package ackset

import (
	"errors"
	"slices"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
	"pgregory.net/rapid"
)

// modelLog is small enough to look at every entry and has ledgers of several
// blocks, one of exactly two, and an empty one.
var modelLog = log{{2, 3}, {3, 2 * blockSize}, {5, 0}, {6, 3*blockSize + 7}, {9, 70}}

// model is the plain map that a Set must agree with.
type model struct {
	mark  sdk.Position
	acked map[sdk.Position]bool
}

func (m *model) contains(p sdk.Position) bool { return !p.After(m.mark) || m.acked[p] }

func (m *model) advance() {
	for m.acked[modelLog.next(m.mark)] {
		m.mark = modelLog.next(m.mark)
	}
	for p := range m.acked {
		if !p.After(m.mark) {
			delete(m.acked, p)
		}
	}
}

func (m *model) ranges() []Range {
	var all []Range
	for _, l := range modelLog {
		for e := range l.entries {
			if !m.acked[at(l.id, e)] {
				continue
			}
			if n := len(all); n > 0 && all[n-1].Ledger == l.id && all[n-1].Last == e-1 {
				all[n-1].Last = e
			} else {
				all = append(all, Range{l.id, e, e})
			}
		}
	}
	return all
}

func drawPosition(t *rapid.T) sdk.Position {
	l := modelLog[rapid.IntRange(0, len(modelLog)-1).Draw(t, "ledger")]
	near := rapid.SampledFrom([]sdk.EntryID{0, 63, blockSize - 1, 2*blockSize - 1, l.entries - 1}).Draw(t, "near")
	return at(l.id, min(max(near+sdk.EntryID(rapid.IntRange(-3, 3).Draw(t, "by")), -1), l.entries-1))
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := drawPosition(t)
		s, m := New(start, modelLog.next), &model{start, map[sdk.Position]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"add":   func(t *rapid.T) { addBoth(t, s, m, 1) },
			"range": func(t *rapid.T) { addBoth(t, s, m, rapid.SampledFrom([]int{2, 64, blockSize, 9000}).Draw(t, "len")) },
			"move": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
					t.Skip()
				}
				p := drawPosition(t)
				if s.MoveTo(p) != p.After(m.mark) {
					t.Fatalf("MoveTo(%v) from %v", p, m.mark)
				}
				if p.After(m.mark) {
					m.mark = p
					m.advance()
				}
			},
			"clip": func(t *rapid.T) {
				last := drawPosition(t)
				s.Clip(last)
				for p := range m.acked {
					if p.After(last) {
						delete(m.acked, p)
					}
				}
			},
			"restore": func(t *rapid.T) {
				ranges, _ := s.Snapshot(1 << 20)
				restored := New(at(0, 0), modelLog.next)
				if err := restored.Restore(s.MarkDelete(), ranges); err != nil {
					t.Fatal(err)
				}
				s = restored
			},
			"": func(t *rapid.T) { compare(t, s, m) },
		})
	})
}

func addBoth(t *rapid.T, s *Set, m *model, n int) {
	p := drawPosition(t)
	r := Range{p.Ledger, p.Entry, min(p.Entry+sdk.EntryID(n)-1, modelLog[slices.IndexFunc(modelLog, func(l struct {
		id      sdk.LedgerID
		entries sdk.EntryID
	}) bool {
		return l.id == p.Ledger
	})].entries-1)}
	var want int64
	for e := r.First; r.valid() && e <= r.Last; e++ {
		if !m.contains(at(r.Ledger, e)) {
			m.acked[at(r.Ledger, e)] = true
			want++
		}
	}
	m.advance()
	if got := s.AddRange(r); got != want {
		t.Fatalf("AddRange(%v) = %d, want %d", r, got, want)
	}
}

func compare(t *rapid.T, s *Set, m *model) {
	want := m.ranges()
	if s.MarkDelete() != m.mark || s.Count() != int64(len(m.acked)) {
		t.Fatalf("at %v with %d, want %v with %d", s.MarkDelete(), s.Count(), m.mark, len(m.acked))
	}
	if got := slices.Collect(s.Ranges()); !slices.Equal(got, want) || s.rangeCount() != len(want) {
		t.Fatalf("ranges are %v (%d), want %v", got, s.rangeCount(), want)
	}
	checkShape(t, s)
	from, to := drawPosition(t), drawPosition(t)
	var in int64
	for p := range m.acked {
		if p.After(from) && !p.After(to) {
			in++
		}
	}
	if got := s.CountIn(from, to); got != in {
		t.Fatalf("CountIn(%v, %v) = %d, want %d", from, to, got, in)
	}
	if s.Contains(from) != m.contains(from) {
		t.Fatalf("Contains(%v) = %v", from, s.Contains(from))
	}
	unacked := from
	for m.contains(unacked) {
		unacked = modelLog.next(unacked)
	}
	if got := s.NextUnacked(from); got != unacked {
		t.Fatalf("NextUnacked(%v) = %v, want %v", from, got, unacked)
	}
	compareRun(t, s, m, Range{from.Ledger, from.Entry, from.Entry + 5000})
}

func compareRun(t *rapid.T, s *Set, m *model, within Range) {
	first := max(within.First, 0)
	for first <= within.Last && m.contains(at(within.Ledger, first)) {
		first++
	}
	last := first
	for last < within.Last && !m.contains(at(within.Ledger, last+1)) {
		last++
	}
	got, ok := s.FirstRun(within)
	if want := first <= within.Last; ok != want || ok && got != (Range{within.Ledger, first, last}) {
		t.Fatalf("FirstRun(%v) = %v, %v, want %v..%v", within, got, ok, first, last)
	}
}

// checkShape asserts what ledger.segments promises.
func checkShape(t *rapid.T, s *Set) {
	var sum int64
	for _, l := range s.ledgers {
		var in int64
		for i, seg := range l.segments {
			full := seg.bits == nil
			if seg.count == 0 || full && seg.count != (seg.end-seg.first)*blockSize || !full && (seg.end != seg.first+1 || seg.count == blockSize) {
				t.Fatalf("ledger %d segment %d is %v..%v with %d", l.id, i, seg.first, seg.end, seg.count)
			}
			if i > 0 && (l.segments[i-1].end > seg.first || full && l.segments[i-1].bits == nil && l.segments[i-1].end == seg.first) {
				t.Fatalf("ledger %d segments %d and %d overlap or touch", l.id, i-1, i)
			}
			in += seg.count
		}
		if in != l.count || in == 0 {
			t.Fatalf("ledger %d counts %d, holds %d", l.id, l.count, in)
		}
		sum += in
	}
	if sum != s.count {
		t.Fatalf("counts %d, holds %d", s.count, sum)
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(int64(1), int64(3), []byte{0, 5, 1, 0, 2, 2, 1, 0, 255})
	f.Add(int64(0), int64(1)<<62, []byte{0, 0, 200})
	f.Fuzz(func(t *testing.T, ledger, entry int64, data []byte) {
		var ranges []Range
		var r Range
		for ; len(data) >= 3; data = data[3:] {
			r.Ledger += sdk.LedgerID(int8(data[0]))
			r.First += sdk.EntryID(int8(data[1]))
			r.Last = r.First + sdk.EntryID(int64(data[2])<<(data[2]&63)) - 3
			ranges = append(ranges, r)
			r.First = r.Last + 1
		}
		s := New(at(0, 0), threeLedgers.next)
		if err := s.Restore(at(sdk.LedgerID(ledger), sdk.EntryID(entry)), ranges); err != nil {
			if !errors.Is(err, sdk.ErrCorrupt) || s.MarkDelete() != at(0, 0) {
				t.Fatalf("%v, at %v", err, s.MarkDelete())
			}
			return
		}
		kept, dropped := s.Snapshot(len(ranges))
		if dropped != 0 {
			t.Fatalf("%d ranges became %d more", len(ranges), dropped)
		}
		again := New(at(0, 0), threeLedgers.next)
		if err := again.Restore(s.MarkDelete(), kept); err != nil || again.Count() != s.Count() || again.MarkDelete() != s.MarkDelete() {
			t.Fatalf("not the same again: %v", err)
		}
	})
}
