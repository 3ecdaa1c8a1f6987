package managedledger

import (
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

func at(ledger, entry int64) sdk.Position {
	return sdk.Position{Ledger: sdk.LedgerID(ledger), Entry: sdk.EntryID(entry)}
}

// closedSpan and openSpan make the ledgers of a view.
func closedSpan(id, entries int64) ledgerSpan {
	return ledgerSpan{id: sdk.LedgerID(id), entries: entries, bytes: entries * 10, closedAt: time.Unix(id, 0)}
}

func openSpan(id int64) ledgerSpan { return ledgerSpan{id: sdk.LedgerID(id)} }

func viewOf(lac sdk.Position, ledgers ...ledgerSpan) *view {
	return &view{ledgers: newSpans(ledgers), lac: lac, trimmed: notTrimmed}
}

// The views of the tables: three closed ledgers and an open one; the same
// before the open one has an entry; one whose first ledgers were trimmed; one
// without ledgers; and one that never had an entry.
func testViews() map[string]*view {
	trimmed := viewOf(at(7, 1), closedSpan(5, 4), openSpan(7))
	trimmed.trimmed = at(3, 9)
	empty := viewOf(at(9, 4))
	empty.trimmed = at(9, 4)
	return map[string]*view{
		"full":    viewOf(at(7, 1), closedSpan(2, 3), closedSpan(3, 1), closedSpan(5, 4), openSpan(7)),
		"lull":    viewOf(at(5, 3), closedSpan(2, 3), closedSpan(3, 1), closedSpan(5, 4), openSpan(7)),
		"trimmed": trimmed,
		"empty":   empty,
		"new":     viewOf(notTrimmed),
		"started": viewOf(notTrimmed, openSpan(4)),
	}
}

func TestViewStart(t *testing.T) {
	for _, c := range []struct {
		view string
		p    sdk.Position
		want sdk.Position
		gone bool
	}{
		{"full", at(2, 0), at(2, 0), false},
		{"full", at(2, -1), at(2, 0), false},
		{"full", at(2, 3), at(3, 0), false}, // exactly behind the end of a closed ledger
		{"full", at(3, 9), at(5, 0), false},
		{"full", at(4, 0), at(5, 0), false},
		{"full", at(5, 4), at(7, 0), false},
		{"full", at(7, 2), at(7, 2), false}, // where the next entry will be
		{"full", at(8, 0), at(8, 0), false}, // beyond the log
		{"full", at(0, 0), at(2, 0), false}, // before a log that was never trimmed
		{"lull", at(5, 4), at(7, 0), false},
		{"trimmed", at(3, 9), at(5, 0), true},
		{"trimmed", at(2, 0), at(5, 0), true},
		{"trimmed", at(3, 10), at(5, 0), false}, // was read to the end before
		{"trimmed", at(5, 0), at(5, 0), false},
		{"empty", at(9, 5), at(9, 5), false},
		{"empty", at(9, 4), at(9, 4), true},
		{"new", at(0, 0), at(0, 0), false},
		{"started", at(0, 0), at(4, 0), false},
	} {
		got, gone := testViews()[c.view].start(c.p)
		if got != c.want || gone != c.gone {
			t.Errorf("%s: start(%s) = %s, %v, want %s, %v", c.view, c.p, got, gone, c.want, c.gone)
		}
	}
}

func TestViewEnds(t *testing.T) {
	for _, c := range []struct {
		view        string
		first, tail sdk.Position
		count       int64
	}{
		{"full", at(2, 0), at(7, 2), 10},
		{"lull", at(2, 0), at(7, 0), 8},
		{"trimmed", at(5, 0), at(7, 2), 6},
		{"empty", at(9, 5), at(9, 5), 0},
		{"new", at(0, 0), at(0, 0), 0},
		{"started", at(4, 0), at(4, 0), 0},
	} {
		v := testViews()[c.view]
		if got := v.first(); got != c.first {
			t.Errorf("%s: first() = %s, want %s", c.view, got, c.first)
		}
		if got := v.tail(); got != c.tail {
			t.Errorf("%s: tail() = %s, want %s", c.view, got, c.tail)
		}
		if got := v.count(v.lac); got != c.count {
			t.Errorf("%s: count(lac) = %d, want %d", c.view, got, c.count)
		}
		if got := v.readable(v.first()); got != (c.count > 0) {
			t.Errorf("%s: readable(first) = %v with %d entries", c.view, got, c.count)
		}
		if v.readable(v.tail()) {
			t.Errorf("%s: readable(tail) = true", c.view)
		}
	}
}

func TestViewCountAndNth(t *testing.T) {
	v := testViews()["full"]
	all := []sdk.Position{at(2, 0), at(2, 1), at(2, 2), at(3, 0), at(5, 0), at(5, 1), at(5, 2), at(5, 3), at(7, 0), at(7, 1)}
	for i, p := range all {
		if got := v.count(p); got != int64(i+1) {
			t.Errorf("count(%s) = %d, want %d", p, got, i+1)
		}
		for j, q := range all {
			if got, want := v.between(p, q), int64(max(j-i, 0)); got != want {
				t.Errorf("between(%s, %s) = %d, want %d", p, q, got, want)
			}
		}
		for n := 1; n <= len(all)+1; n++ {
			want := all[min(i+n, len(all)-1)]
			if got := v.nth(p, int64(n)); got != want {
				t.Errorf("nth(%s, %d) = %s, want %s", p, n, got, want)
			}
		}
		want := at(2, -1)
		if i > 0 {
			want = all[i-1]
		}
		if got := v.previous(p); got != want {
			t.Errorf("previous(%s) = %s, want %s", p, got, want)
		}
	}
	for _, c := range []struct {
		p    sdk.Position
		want int64
	}{{at(0, 0), 0}, {at(2, -1), 0}, {at(4, 0), 4}, {at(2, 99), 3}, {at(7, 99), 10}, {at(99, 0), 10}} {
		if got := v.count(c.p); got != c.want {
			t.Errorf("count(%s) = %d, want %d", c.p, got, c.want)
		}
	}
	if got := v.previous(at(7, 0)); got != at(5, 3) {
		t.Errorf("previous over a ledger's start = %s", got)
	}
	if got := v.previous(at(99, 3)); got != at(7, 1) {
		t.Errorf("previous beyond the log = %s", got)
	}
}

func TestViewOpenLedger(t *testing.T) {
	for name, want := range map[string]int64{"full": 7, "lull": 7, "trimmed": 7, "empty": -1, "new": -1, "started": 4} {
		id, ok := testViews()[name].openLedger()
		if ok != (want >= 0) || (ok && int64(id) != want) {
			t.Errorf("%s: openLedger() = %d, %v, want %d", name, id, ok, want)
		}
	}
}

// Removable ledgers: S-024, S-025, S-027 as a table.
func TestS024S025S027Removable(t *testing.T) {
	// Ledgers of 100 bytes, closed at second id.
	five := func() *view {
		v := viewOf(at(5, 9), closedSpan(1, 10), closedSpan(2, 10), closedSpan(3, 10), closedSpan(4, 10), closedSpan(5, 10))
		return v
	}
	withOpen := func() *view {
		v := viewOf(at(6, 4), closedSpan(1, 10), closedSpan(2, 10), openSpan(6))
		v.openBytes = 50
		return v
	}
	lag := viewOf(at(1, 9), closedSpan(1, 10), closedSpan(2, 10)) // as if the LAC lagged
	none := sdk.Position{}
	for _, c := range []struct {
		name        string
		v           *view
		slowest     sdk.Position
		held        bool
		bytes       int64
		age         time.Duration
		nowSeconds  int64
		force       bool
		wantRemoved int
	}{
		{"S-024 size keeps at least what it says", five(), at(5, 9), true, 250, -1, 100, false, 2},
		{"size counts the open ledger", withOpen(), none, false, 150, -1, 100, false, 1},
		{"0 and 0 removes all that is consumed", five(), at(3, 9), true, 0, 0, 100, false, 3},
		{"a ledger consumed in part stays", five(), at(3, 8), true, 0, 0, 100, false, 2},
		{"no durable cursor holds nothing back", five(), none, false, 0, 0, 100, false, 5},
		{"the open ledger stays", withOpen(), at(6, 4), true, 0, 0, 100, false, 2},
		{"S-025 removed by time without traffic", withOpen(), at(2, 9), true, -1, 10 * time.Second, 13, false, 2},
		{"time not up", withOpen(), at(2, 9), true, -1, 20 * time.Second, 13, false, 0},
		{"-1 and -1 keeps all", five(), at(5, 9), true, -1, -1, 100, false, 0},
		{"force goes over retention", five(), at(5, 9), true, -1, -1, 100, true, 5},
		{"force does not go over cursors", five(), at(2, 9), true, -1, -1, 100, true, 2},
		{"the first one that stays keeps all behind it", five(), at(5, 9), true, -1, 97 * time.Second, 100, false, 2},
		{"S-027 nothing beyond the LAC", lag, at(2, 9), true, 0, 0, 100, true, 1},
	} {
		config := Config{RetentionBytes: c.bytes, RetentionTime: c.age}
		if got := removable(c.v, c.slowest, c.held, &config, time.Unix(c.nowSeconds, 0), c.force); got != c.wantRemoved {
			t.Errorf("%s: %d ledgers may go, want %d", c.name, got, c.wantRemoved)
		}
	}
}
