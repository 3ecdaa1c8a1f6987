package managedledger

import "github.com/tidemark-engine/tidemark/sdk"

// Start says where a reader begins. The zero value is [Earliest].
type Start struct {
	kind startKind
	at   sdk.Position
}

type startKind uint8

const (
	startEarliest startKind = iota
	startLatest
	startAt
	startAfter
)

// Earliest begins at the oldest entry that is kept.
func Earliest() Start { return Start{kind: startEarliest} }

// Latest begins behind the last confirmed entry.
func Latest() Start { return Start{kind: startLatest} }

// At begins at the first entry at or behind p.
func At(p sdk.Position) Start { return Start{startAt, p} }

// After begins at the first entry behind p.
func After(p sdk.Position) Start { return Start{startAfter, p} }

// resolve returns where a reader begins that is asked to begin there, not
// beyond the log's end. A place that was trimmed stays as it is, so that the
// reader can be told.
func (s Start) resolve(v *view) sdk.Position {
	tail := v.tail()
	at := s.at
	switch s.kind {
	case startEarliest:
		return v.first()
	case startLatest:
		return tail
	case startAfter:
		at = at.Next()
	}
	if moved, _ := v.start(at); moved.After(tail) || at.After(tail) {
		return tail
	}
	return at
}

// Resolve returns the position that a start stands for now, for [ManagedLedger.Read].
// It is never beyond the log's end. A position that was trimmed stays what it
// is; reading from there says what is gone.
func (m *ManagedLedger) Resolve(from Start) sdk.Position { return from.resolve(m.current()) }
