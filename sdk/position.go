package sdk

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// LedgerID names a ledger inside one store. Ids are given by the store,
// start at 0 or above, rise, and are never used twice.
type LedgerID int64

// EntryID names an entry inside its ledger. The first entry has id 0.
type EntryID int64

// NoEntry is the entry id "before the first": the last add confirmed of an
// empty ledger, and the entry of a position that stands before a ledger.
const NoEntry EntryID = -1

// Position names an entry of a log: ordered by ledger, then by entry.
type Position struct {
	Ledger LedgerID
	Entry  EntryID
}

// Compare returns -1, 0 or +1 as p is before, at or after q.
func (p Position) Compare(q Position) int {
	if c := cmp.Compare(p.Ledger, q.Ledger); c != 0 {
		return c
	}
	return cmp.Compare(p.Entry, q.Entry)
}

// Before reports whether p is before q.
func (p Position) Before(q Position) bool { return p.Compare(q) < 0 }

// After reports whether p is after q.
func (p Position) After(q Position) bool { return p.Compare(q) > 0 }

// Next returns the position one entry further in the same ledger. Whether an
// entry is there is for the ledger to say.
func (p Position) Next() Position { return Position{p.Ledger, p.Entry + 1} }

// Previous returns the position one entry back in the same ledger; before the
// first entry it is that ledger's [NoEntry].
func (p Position) Previous() Position {
	return Position{p.Ledger, max(p.Entry-1, NoEntry)}
}

// String returns the form LEDGER:ENTRY, which [ParsePosition] reads.
func (p Position) String() string {
	return strconv.FormatInt(int64(p.Ledger), 10) + ":" + strconv.FormatInt(int64(p.Entry), 10)
}

// ParsePosition reads the form LEDGER:ENTRY, for instance 12:0. The entry may
// be -1, the place before the ledger's first entry.
func ParsePosition(text string) (Position, error) {
	ledger, entry, found := strings.Cut(text, ":")
	if !found {
		return Position{}, fmt.Errorf("position %q is not LEDGER:ENTRY, for instance 12:0", text)
	}
	l, errLedger := strconv.ParseInt(ledger, 10, 64)
	e, errEntry := strconv.ParseInt(entry, 10, 64)
	if err := errors.Join(errLedger, errEntry); err != nil || l < 0 || e < int64(NoEntry) {
		return Position{}, fmt.Errorf("position %q is not LEDGER:ENTRY with a ledger from 0 and an entry from -1", text)
	}
	return Position{LedgerID(l), EntryID(e)}, nil
}
