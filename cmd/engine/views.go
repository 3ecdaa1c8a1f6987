package main

import (
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// What the server says, in the form in which -o json prints it. Positions are
// LEDGER:ENTRY, times RFC 3339, durations seconds.

type topicView struct {
	Name          string                 `json:"name"`
	State         string                 `json:"state"`
	First         string                 `json:"first"`
	LastConfirmed string                 `json:"last_confirmed"`
	Entries       int64                  `json:"entries"`
	Bytes         int64                  `json:"bytes"`
	Ledgers       []ledgerView           `json:"ledgers"`
	Settings      map[string]settingView `json:"settings"`
	Cursors       []cursorView           `json:"cursors"`
	Producers     []producerView         `json:"producers"`
	Lane          laneView               `json:"lane"`
	Totals        totalsView             `json:"totals"`
}

type ledgerView struct {
	ID       int64      `json:"id"`
	Entries  int64      `json:"entries"`
	Bytes    int64      `json:"bytes"`
	ClosedAt *time.Time `json:"closed_at,omitempty"`
}

type settingView struct {
	Value string `json:"value"`
	From  string `json:"from"`
}

type cursorView struct {
	Name         string `json:"name"`
	Durable      bool   `json:"durable"`
	MarkDelete   string `json:"mark_delete"`
	ReadPosition string `json:"read_position"`
	Backlog      int64  `json:"backlog"`
	Connected    bool   `json:"connected"`
	// RangesLeftOut are acknowledged ranges that are not stored.
	RangesLeftOut int64 `json:"ranges_left_out"`
}

type producerView struct {
	Name         string  `json:"name"`
	LastSequence *uint64 `json:"last_sequence"` // null if it has stored nothing
	Connected    bool    `json:"connected"`
	Pending      int64   `json:"pending"`
}

type laneView struct {
	Queued int64          `json:"queued"`
	Work   []laneWorkView `json:"work"`
}

type laneWorkView struct {
	Kind          string  `json:"kind"`
	Tasks         int64   `json:"tasks"`
	BusySeconds   float64 `json:"busy_seconds"`
	WaitedSeconds float64 `json:"waited_seconds"`
}

type totalsView struct {
	AddedEntries   int64 `json:"added_entries"`
	AddedBytes     int64 `json:"added_bytes"`
	FailedAdds     int64 `json:"failed_adds"`
	PendingEntries int64 `json:"pending_entries"`
	PendingBytes   int64 `json:"pending_bytes"`
	Duplicates     int64 `json:"duplicates"`
	WaitingReaders int64 `json:"waiting_readers"`
}

func positionText(p *tidemarkv1.Position) string {
	return sdk.Position{Ledger: sdk.LedgerID(p.GetLedger()), Entry: sdk.EntryID(p.GetEntry())}.String()
}

func viewTopic(t *tidemarkv1.Topic) topicView {
	totals := t.GetTotals()
	v := topicView{
		Name: t.GetName(), State: t.GetState(), First: positionText(t.GetFirst()), LastConfirmed: positionText(t.GetLastConfirmed()),
		Entries: t.GetEntries(), Bytes: t.GetBytes(),
		Ledgers: []ledgerView{}, Settings: viewSettings(t.GetSettings()), Cursors: viewCursors(t.GetCursors()), Producers: []producerView{},
		Lane: laneView{Queued: t.GetLane().GetQueued(), Work: []laneWorkView{}},
		Totals: totalsView{
			AddedEntries: totals.GetAddedEntries(), AddedBytes: totals.GetAddedBytes(), FailedAdds: totals.GetFailedAdds(),
			PendingEntries: totals.GetPendingEntries(), PendingBytes: totals.GetPendingBytes(),
			Duplicates: totals.GetDuplicates(), WaitingReaders: totals.GetWaitingReaders(),
		},
	}
	for _, l := range t.GetLedgers() {
		ledger := ledgerView{ID: l.GetId(), Entries: l.GetEntries(), Bytes: l.GetBytes()}
		if l.GetClosedAt() != nil {
			closed := l.GetClosedAt().AsTime()
			ledger.ClosedAt = &closed
		}
		v.Ledgers = append(v.Ledgers, ledger)
	}
	for _, p := range t.GetProducers() {
		v.Producers = append(v.Producers, producerView{p.GetName(), p.LastSequence, p.GetConnected(), p.GetPending()})
	}
	for _, w := range t.GetLane().GetWork() {
		v.Lane.Work = append(v.Lane.Work, laneWorkView{w.GetKind(), w.GetTasks(), w.GetBusy().AsDuration().Seconds(), w.GetWaited().AsDuration().Seconds()})
	}
	return v
}

func viewSettings(settings map[string]*tidemarkv1.Setting) map[string]settingView {
	views := map[string]settingView{}
	for key, s := range settings {
		views[key] = settingView{s.GetValue(), s.GetFrom()}
	}
	return views
}

func viewCursor(c *tidemarkv1.Cursor) cursorView {
	return cursorView{
		Name: c.GetName(), Durable: c.GetDurable(),
		MarkDelete: positionText(c.GetMarkDelete()), ReadPosition: positionText(c.GetReadPosition()),
		Backlog: c.GetBacklog(), Connected: c.GetConnected(), RangesLeftOut: c.GetRangesLeftOut(),
	}
}

func viewCursors(cursors []*tidemarkv1.Cursor) []cursorView {
	views := []cursorView{}
	for _, c := range cursors {
		views = append(views, viewCursor(c))
	}
	return views
}
