package server

import (
	"context"
	"fmt"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// position puts a position on the wire.
func position(p sdk.Position) *tidemarkv1.Position {
	return &tidemarkv1.Position{Ledger: int64(p.Ledger), Entry: int64(p.Entry)}
}

// positionOf takes a position off the wire.
func positionOf(p *tidemarkv1.Position) (sdk.Position, error) {
	if p.GetLedger() < 0 || p.GetEntry() < int64(sdk.NoEntry) {
		return sdk.Position{}, fmt.Errorf("%w: %d:%d, a ledger is from 0 and an entry from -1", sdk.ErrInvalid, p.GetLedger(), p.GetEntry())
	}
	return sdk.Position{Ledger: sdk.LedgerID(p.GetLedger()), Entry: sdk.EntryID(p.GetEntry())}, nil
}

// placeOf is startOf for cursors that are put to a place by hand: a position
// beyond the end is a slip then, after which all would count as acknowledged.
func placeOf(ctx context.Context, topic *engine.Topic, s *tidemarkv1.Start) (managedledger.Start, error) {
	start, err := startOf(ctx, topic, s)
	if err != nil {
		return start, err
	}
	var asked sdk.Position
	beyond, end := false, topic.Resolve(managedledger.Latest())
	switch {
	case s.GetAt() != nil:
		asked, err = positionOf(s.GetAt())
		beyond = asked.After(end)
	case s.GetAfter() != nil:
		asked, err = positionOf(s.GetAfter())
		beyond = !asked.Before(end)
	}
	if beyond {
		err = fmt.Errorf("topic %q: %w: %s is beyond the end of the topic, which is at %s; latest stands for it",
			topic.Name(), reason.ErrPositionInvalid, asked, end)
	}
	return start, err
}

// startOf takes a start off the wire. A time or a cursor is looked up in the
// topic.
func startOf(ctx context.Context, topic *engine.Topic, s *tidemarkv1.Start) (managedledger.Start, error) {
	switch start := s.GetStart().(type) {
	case nil:
		return managedledger.Earliest(), nil
	case *tidemarkv1.Start_Edge:
		switch start.Edge {
		case tidemarkv1.Edge_EDGE_EARLIEST:
			return managedledger.Earliest(), nil
		case tidemarkv1.Edge_EDGE_LATEST:
			return managedledger.Latest(), nil
		}
	case *tidemarkv1.Start_At:
		p, err := positionOf(start.At)
		return managedledger.At(p), err
	case *tidemarkv1.Start_After:
		p, err := positionOf(start.After)
		return managedledger.After(p), err
	case *tidemarkv1.Start_Time:
		if err := start.Time.CheckValid(); err != nil {
			return managedledger.Start{}, fmt.Errorf("%w: start: %w", sdk.ErrInvalid, err)
		}
		p, err := topic.FindTime(ctx, start.Time.AsTime())
		return managedledger.At(p), err
	case *tidemarkv1.Start_Cursor:
		c, err := topic.Cursor(start.Cursor)
		if err != nil {
			return managedledger.Start{}, err
		}
		return managedledger.After(c.MarkDelete()), nil
	}
	return managedledger.Start{}, fmt.Errorf("%w: a start is earliest, latest, a position, a time or a cursor", sdk.ErrInvalid)
}
