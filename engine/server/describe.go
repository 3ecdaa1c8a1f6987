package server

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark-engine/tidemark/engine"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// describe puts all about a topic on the wire.
func (s *Server) describe(d engine.Description) *tidemarkv1.Topic {
	t := &tidemarkv1.Topic{
		Name: d.Name, State: d.State,
		LastConfirmed: position(d.LastConfirmed), First: position(d.First),
		Entries: d.Entries, Bytes: d.Bytes,
		Settings: settings(d.Settings),
		Lane:     lane(d),
		Totals: &tidemarkv1.TopicTotals{
			AddedEntries: d.Totals.AddedEntries, AddedBytes: d.Totals.AddedBytes, FailedAdds: d.Totals.FailedAdds,
			PendingEntries: int64(d.Totals.PendingEntries), PendingBytes: d.Totals.PendingBytes,
			Duplicates: d.Totals.Duplicates, WaitingReaders: int64(d.Totals.WaitingReaders),
		},
	}
	for _, l := range d.Ledgers {
		ledger := &tidemarkv1.Ledger{Id: int64(l.ID), Entries: l.Entries, Bytes: l.Bytes}
		if !l.ClosedAt.IsZero() {
			ledger.ClosedAt = timestamppb.New(l.ClosedAt)
		}
		t.Ledgers = append(t.Ledgers, ledger)
	}
	for _, c := range d.Cursors {
		t.Cursors = append(t.Cursors, s.cursor(d.Name, c))
	}
	for _, p := range d.Producers {
		t.Producers = append(t.Producers, &tidemarkv1.Producer{
			Name: p.Name, LastSequence: p.LastSequence, Connected: p.Connected, Pending: int64(p.Pending),
		})
	}
	return t
}

// settings puts settings in force on the wire.
func settings(choices map[string]engine.Choice) map[string]*tidemarkv1.Setting {
	all := make(map[string]*tidemarkv1.Setting, len(choices))
	for key, c := range choices {
		all[key] = &tidemarkv1.Setting{Value: c.Value, From: c.From}
	}
	return all
}

// lane puts the work of a topic's lane on the wire.
func lane(d engine.Description) *tidemarkv1.Lane {
	l := &tidemarkv1.Lane{Queued: int64(d.Queued)}
	for _, kind := range slices.Sorted(maps.Keys(d.Lane)) {
		w := d.Lane[kind]
		l.Work = append(l.Work, &tidemarkv1.LaneWork{
			Kind: kind, Tasks: w.Tasks, Busy: durationpb.New(w.Busy), Waited: durationpb.New(w.Waited),
		})
	}
	return l
}

// cursor puts a cursor on the wire.
func (s *Server) cursor(topic string, c engine.CursorDescription) *tidemarkv1.Cursor {
	return &tidemarkv1.Cursor{
		Name: c.Name, Durable: c.Durable, Backlog: c.Backlog,
		MarkDelete: position(c.MarkDelete), ReadPosition: position(c.ReadPosition),
		Connected: s.holders.connected(topic, c.Name), RangesLeftOut: int64(c.RangesLeftOut),
	}
}
