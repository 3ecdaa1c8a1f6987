package managedledger

import "github.com/tidemark-engine/tidemark/sdk"

// Entry is one entry as a reader gets it. The payload is immutable and may be
// kept.
type Entry struct {
	Position sdk.Position
	Payload  []byte
}

// Span is a run of consecutive entries of one ledger.
type Span struct {
	First sdk.Position
	Count int
}

// Last returns the position of the span's last entry.
func (s Span) Last() sdk.Position {
	return sdk.Position{Ledger: s.First.Ledger, Entry: s.First.Entry + sdk.EntryID(s.Count) - 1}
}

// ReadResult is what one read yields.
type ReadResult struct {
	// Entries are in order, at strictly rising positions.
	Entries []Entry
	// Next is where the next read goes on.
	Next sdk.Position
	// Gone says that the place where this read should have begun was trimmed
	// before it could be read, and that the read began at GoneUntil, the first
	// position that is kept or will be. It is said once, if need be without
	// entries, also by a read that waits. A reader that must not miss anything
	// looks at it.
	Gone      bool
	GoneUntil sdk.Position
}
