package client

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// Start says where reading begins. The zero value is the earliest entry that is
// kept.
type Start struct{ start *tidemarkv1.Start }

// Earliest is the earliest entry that is kept.
func Earliest() Start {
	return Start{&tidemarkv1.Start{Start: &tidemarkv1.Start_Edge{Edge: tidemarkv1.Edge_EDGE_EARLIEST}}}
}

// Latest is the next entry that is published.
func Latest() Start {
	return Start{&tidemarkv1.Start{Start: &tidemarkv1.Start_Edge{Edge: tidemarkv1.Edge_EDGE_LATEST}}}
}

// At is the first entry at p or behind it.
func At(p sdk.Position) Start {
	return Start{&tidemarkv1.Start{Start: &tidemarkv1.Start_At{At: positionOn(p)}}}
}

// After is the first entry behind p.
func After(p sdk.Position) Start {
	return Start{&tidemarkv1.Start{Start: &tidemarkv1.Start_After{After: positionOn(p)}}}
}

// Since is the first entry that was published at t or later.
func Since(t time.Time) Start {
	return Start{&tidemarkv1.Start{Start: &tidemarkv1.Start_Time{Time: timestamppb.New(t)}}}
}

// WhereCursor is the first entry behind what a cursor has acknowledged without
// a gap. The cursor does not move.
func WhereCursor(name string) Start {
	return Start{&tidemarkv1.Start{Start: &tidemarkv1.Start_Cursor{Cursor: name}}}
}

// ParseStart reads a start as people write it: earliest, latest, a position
// LEDGER:ENTRY, a time such as 2030-01-31T12:00:00Z, or @CURSOR.
func ParseStart(text string) (Start, error) {
	s, err := wire.ParseStart(text)
	return Start{s}, err
}

func positionOn(p sdk.Position) *tidemarkv1.Position {
	return &tidemarkv1.Position{Ledger: int64(p.Ledger), Entry: int64(p.Entry)}
}

func positionOf(p *tidemarkv1.Position) sdk.Position {
	return sdk.Position{Ledger: sdk.LedgerID(p.GetLedger()), Entry: sdk.EntryID(p.GetEntry())}
}

func positionsOn(positions []sdk.Position) []*tidemarkv1.Position {
	all := make([]*tidemarkv1.Position, len(positions))
	for i, p := range positions {
		all[i] = positionOn(p)
	}
	return all
}
