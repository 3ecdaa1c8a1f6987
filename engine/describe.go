package engine

import (
	"context"
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Description is all about a topic, for people and programs. Its parts are
// taken one after the other, so while the topic is in use they may not fit
// together exactly.
type Description struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// LastConfirmed is the last entry that may be read, First the oldest one
	// that is kept, or where the next one will be.
	LastConfirmed sdk.Position `json:"lastConfirmed"`
	First         sdk.Position `json:"first"`
	// Entries and Bytes are what is kept.
	Entries int64               `json:"entries"`
	Bytes   int64               `json:"bytes"`
	Ledgers []LedgerDescription `json:"ledgers"`
	// Settings are those in force, by key.
	Settings  map[string]Choice     `json:"settings"`
	Cursors   []CursorDescription   `json:"cursors"`
	Producers []ProducerDescription `json:"producers"`
	// Lane is what the topic's lane worked on, by kind of task, and Queued what
	// waits for it.
	Lane   map[string]scheduling.KindStats `json:"lane"`
	Queued int                             `json:"queued"`
	Totals TopicTotals                     `json:"totals"`
}

// LedgerDescription is one ledger of a topic.
type LedgerDescription struct {
	ID      sdk.LedgerID `json:"id"`
	Entries int64        `json:"entries"`
	Bytes   int64        `json:"bytes"`
	// ClosedAt is zero while the ledger is open.
	ClosedAt time.Time `json:"closedAt,omitzero"`
}

// CursorDescription is one cursor of a topic.
type CursorDescription struct {
	Name         string       `json:"name"`
	Durable      bool         `json:"durable"`
	MarkDelete   sdk.Position `json:"markDelete"`
	ReadPosition sdk.Position `json:"readPosition"`
	// Backlog is how many entries are not acknowledged.
	Backlog int64 `json:"backlog"`
	// RangesLeftOut is how many ranges of singly acknowledged entries are beyond
	// max-ack-ranges: they are not stored, and would come again after a restart.
	RangesLeftOut int `json:"rangesLeftOut"`
}

// TopicTotals are counts since the topic was opened, and what is pending now.
type TopicTotals struct {
	AddedEntries int64 `json:"addedEntries"`
	AddedBytes   int64 `json:"addedBytes"`
	// FailedAdds counts batches of appends that failed together.
	FailedAdds     int64 `json:"failedAdds"`
	PendingEntries int   `json:"pendingEntries"`
	PendingBytes   int64 `json:"pendingBytes"`
	// Duplicates are the messages that were not stored because they were
	// already.
	Duplicates     int64 `json:"duplicates"`
	WaitingReaders int   `json:"waitingReaders"`
}

// Describe returns all about the topic. It waits for nothing that the topic
// does.
func (t *Topic) Describe(context.Context) (Description, error) {
	err := t.usable()
	if err != nil {
		return Description{}, t.fail("describe", err)
	}
	config, _, err := t.inForce()
	if err != nil {
		return Description{}, t.fail("describe", err)
	}
	stats := t.log.Stats()
	d := Description{
		Name:          t.name,
		State:         stats.State.String(),
		LastConfirmed: stats.LastConfirmed,
		First:         stats.First,
		Entries:       stats.Entries,
		Bytes:         stats.Bytes,
		Settings:      choices(config, *t.overrides.Load()),
		Producers:     t.producers.describe(),
		Queued:        stats.Lane.Queued,
		Totals:        t.totals(stats),
	}
	for _, l := range stats.Ledgers {
		d.Ledgers = append(d.Ledgers, LedgerDescription(l))
	}
	for _, name := range t.Cursors() {
		if c, found := t.log.Cursor(name); found {
			d.Cursors = append(d.Cursors, DescribeCursor(c))
		}
	}
	d.Lane = map[string]scheduling.KindStats{}
	for kind, k := range stats.Lane.ByKind {
		if k.Tasks > 0 {
			d.Lane[scheduling.Kind(kind).String()] = k
		}
	}
	return d, nil
}

// DescribeCursor returns all about a cursor.
func DescribeCursor(c *managedledger.Cursor) CursorDescription {
	s := c.Stats()
	return CursorDescription{
		Name: s.Name, Durable: s.Durable,
		MarkDelete: s.MarkDelete, ReadPosition: s.ReadPosition, Backlog: s.Backlog,
		RangesLeftOut: s.RangesLeftOut,
	}
}

// totals returns the counts of a topic.
func (t *Topic) totals(stats managedledger.Stats) TopicTotals {
	return TopicTotals{
		AddedEntries:   stats.AddedEntries,
		AddedBytes:     stats.AddedBytes,
		FailedAdds:     int64(stats.AddFailures),
		PendingEntries: stats.PendingEntries,
		PendingBytes:   stats.PendingBytes,
		Duplicates:     t.producers.duplicates.Load(),
		WaitingReaders: stats.WaitingReaders,
	}
}
