package ackset

import (
	"slices"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
)

// log is a log for tests: how many entries each ledger has, rising by id; the
// last one is open.
type log []struct {
	id      sdk.LedgerID
	entries sdk.EntryID
}

func (l log) next(p sdk.Position) sdk.Position {
	for i := range l {
		open := i == len(l)-1
		switch {
		case l[i].id < p.Ledger:
			continue
		case l[i].id > p.Ledger:
			if open || l[i].entries > 0 {
				return sdk.Position{Ledger: l[i].id}
			}
		case open || p.Entry+1 < l[i].entries:
			return p.Next()
		}
	}
	return p.Next()
}

func at(ledger sdk.LedgerID, entry sdk.EntryID) sdk.Position {
	return sdk.Position{Ledger: ledger, Entry: entry}
}

// threeLedgers has an empty ledger in its middle and gaps between the ids.
var threeLedgers = log{{1, 10}, {4, 0}, {7, 10_000}, {9, 5}}

func TestAdd(t *testing.T) {
	for _, c := range []struct {
		name   string
		mark   sdk.Position
		add    []sdk.Position
		want   sdk.Position
		ranges []Range
	}{
		{"in order", at(1, -1), []sdk.Position{at(1, 0), at(1, 1), at(1, 2)}, at(1, 2), nil},
		{"with a hole", at(1, 0), []sdk.Position{at(1, 2), at(1, 4), at(1, 3)}, at(1, 0), []Range{{1, 2, 4}}},
		{"hole filled", at(1, 0), []sdk.Position{at(1, 2), at(1, 3), at(1, 1)}, at(1, 3), nil},
		{"over the end of a ledger and an empty one", at(1, 8), []sdk.Position{at(7, 0), at(7, 1), at(1, 9)}, at(7, 1), nil},
		{"first of the next ledger", at(1, 9), []sdk.Position{at(7, 0)}, at(7, 0), nil},
		{"next ledger while the end of this one is missing", at(1, 8), []sdk.Position{at(7, 0)}, at(1, 8), []Range{{7, 0, 0}}},
		{"the mark's ledger is gone", at(0, 3), []sdk.Position{at(1, 0)}, at(1, 0), nil},
		{"twice and behind the mark", at(1, 4), []sdk.Position{at(1, 3), at(0, 99), at(1, 6), at(1, 6)}, at(1, 4), []Range{{1, 6, 6}}},
		{"no entry", at(1, 4), []sdk.Position{at(7, -1), at(7, MaxEntry+1), at(-3, 1)}, at(1, 4), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(c.mark, threeLedgers.next)
			s.Add(c.add...)
			if s.MarkDelete() != c.want {
				t.Errorf("mark-delete is %v, want %v", s.MarkDelete(), c.want)
			}
			if got := slices.Collect(s.Ranges()); !slices.Equal(got, c.ranges) {
				t.Errorf("ranges are %v, want %v", got, c.ranges)
			}
		})
	}
}

func TestAdvanceAfterRoll(t *testing.T) {
	open := log{{1, 10}}
	s := New(at(1, 8), func(p sdk.Position) sdk.Position { return open.next(p) })
	s.Add(at(2, 0), at(1, 9)) // acknowledged before the set's log knew of ledger 2
	if s.MarkDelete() != at(1, 9) {
		t.Fatalf("mark-delete is %v", s.MarkDelete())
	}
	open = log{{1, 10}, {2, 3}}
	s.Advance()
	if s.MarkDelete() != at(2, 0) || s.Count() != 0 {
		t.Fatalf("mark-delete is %v with %d beyond, want 2:0 with none", s.MarkDelete(), s.Count())
	}
}

func TestFirstRun(t *testing.T) {
	s := New(at(1, 2), threeLedgers.next)
	s.AddRange(Range{1, 5, 6})
	s.AddRange(Range{7, 0, 8191})
	for _, c := range []struct{ within, want Range }{
		{Range{1, 0, 9}, Range{1, 3, 4}},
		{Range{1, 4, 4}, Range{1, 4, 4}},
		{Range{1, 5, 9}, Range{1, 7, 9}},
		{Range{1, 5, 6}, Range{}},
		{Range{0, 0, 9}, Range{}},
		{Range{7, 10, 9000}, Range{7, 8192, 9000}},
		{Range{9, 0, 4}, Range{9, 0, 4}},
	} {
		got, ok := s.FirstRun(c.within)
		if want := c.want != (Range{}); ok != want || ok && got != c.want {
			t.Errorf("first run of %v is %v, %v, want %v", c.within, got, ok, c.want)
		}
	}
}

func TestS018ClipForgetsWhatLiesBehindTheLog(t *testing.T) {
	s := New(at(1, -1), threeLedgers.next)
	s.AddRange(Range{1, 2, 9})
	s.AddRange(Range{7, 0, 20})
	s.Clip(at(1, 4))
	if got := slices.Collect(s.Ranges()); !slices.Equal(got, []Range{{1, 2, 4}}) || s.Count() != 3 {
		t.Fatalf("ranges are %v (%d entries)", got, s.Count())
	}
}

func TestS015SnapshotKeepsTheOldest(t *testing.T) {
	s := New(at(7, -1), threeLedgers.next)
	for e := sdk.EntryID(1); e < 3000; e += 2 {
		s.Add(at(7, e))
	}
	ranges, dropped := s.Snapshot(1000)
	if len(ranges) != 1000 || dropped != 500 || ranges[999] != (Range{7, 1999, 1999}) {
		t.Fatalf("%d ranges to %v, %d dropped", len(ranges), ranges[len(ranges)-1], dropped)
	}
	restored := New(at(0, -1), threeLedgers.next)
	if err := restored.Restore(at(7, -1), ranges); err != nil {
		t.Fatal(err)
	}
	if restored.Contains(at(7, 2001)) || !restored.Contains(at(7, 1999)) || restored.Count() != 1000 {
		t.Fatal("the restored set differs from the snapshot")
	}
}
