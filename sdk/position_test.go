package sdk_test

import (
	"slices"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
)

func TestPositionsAreOrdered(t *testing.T) {
	rising := []sdk.Position{{Ledger: 0, Entry: sdk.NoEntry}, {Ledger: 0, Entry: 0}, {Ledger: 0, Entry: 7}, {Ledger: 3, Entry: sdk.NoEntry}, {Ledger: 3, Entry: 2}}
	for i, p := range rising {
		for j, q := range rising {
			if p.Before(q) != (i < j) || p.After(q) != (i > j) || (p.Compare(q) == 0) != (i == j) {
				t.Errorf("%v and %v: before %t, after %t, compared %d", p, q, p.Before(q), p.After(q), p.Compare(q))
			}
		}
	}
	if !slices.IsSortedFunc(rising, sdk.Position.Compare) {
		t.Error("not sorted")
	}
}

func TestNeighboursOfAPosition(t *testing.T) {
	for _, c := range []struct{ at, next, previous string }{
		{"4:-1", "4:0", "4:-1"},
		{"4:0", "4:1", "4:-1"},
		{"4:9", "4:10", "4:8"},
	} {
		p, err := sdk.ParsePosition(c.at)
		if err != nil {
			t.Fatal(err)
		}
		if p.Next().String() != c.next || p.Previous().String() != c.previous {
			t.Errorf("%s: next %v, previous %v; want %s and %s", c.at, p.Next(), p.Previous(), c.next, c.previous)
		}
	}
}

func TestParsePosition(t *testing.T) {
	for text, want := range map[string]sdk.Position{
		"12:0":  {Ledger: 12, Entry: 0},
		"0:-1":  {Ledger: 0, Entry: sdk.NoEntry},
		"3:1e2": {}, "": {}, ":": {}, "12": {}, "12:": {}, ":5": {}, "-1:0": {}, "1:-2": {}, "1:2:3": {}, " 1:2": {},
		"9223372036854775808:0": {}, "0:9223372036854775808": {},
	} {
		got, err := sdk.ParsePosition(text)
		if valid := want != (sdk.Position{}); got != want || (err == nil) != valid {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add("12:0")
	f.Add("0:-1")
	f.Add("+1:007")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := sdk.ParsePosition(text)
		if err != nil {
			return
		}
		if p.Ledger < 0 || p.Entry < sdk.NoEntry {
			t.Fatalf("%q is %v", text, p)
		}
		if again, err := sdk.ParsePosition(p.String()); err != nil || again != p {
			t.Fatalf("%q is %v, which reads back as %v, %v", text, p, again, err)
		}
	})
}
