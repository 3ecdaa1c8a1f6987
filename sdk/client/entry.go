package client

import (
	"fmt"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// Entry is a message with its place.
type Entry struct {
	Position sdk.Position
	message.Message
}

// Batch is what came in one frame. Its bytes belong to whoever gets it.
type Batch struct {
	// Entries are in order. A batch that only tells something has none.
	Entries []Entry
	// Next is where a later read goes on behind this batch.
	Next sdk.Position
	// AtHead says that there was nothing behind this batch when it was made;
	// Head is the last confirmed entry then.
	AtHead bool
	Head   sdk.Position
	// Gone says that entries before Next were removed before they could be
	// read: those between what came before and Next are missing.
	Gone bool

	count, size int // entries and their bytes on the wire: what permits are for
}

// entriesOf decodes a frame.
func entriesOf(frame *tidemarkv1.Entries) (Batch, error) {
	total := 0
	for _, run := range frame.GetRuns() {
		total += int(min(run.GetCount(), uint32(len(run.GetEntries()))))
	}
	b := Batch{Entries: make([]Entry, 0, total), Next: positionOf(frame.GetNext())}
	for _, run := range frame.GetRuns() {
		from := len(b.Entries)
		for packed, err := range message.Unpack(run.GetEntries()) {
			i := len(b.Entries) - from
			at, ok := place(run, i)
			if err == nil && !ok {
				err = fmt.Errorf("%w: a frame holds more entries than places", sdk.ErrCorrupt)
			}
			var m message.Message
			if err == nil {
				m, err = message.Decode(packed)
			}
			if err != nil {
				return Batch{}, fmt.Errorf("client: entry %v: %w", at, err)
			}
			b.Entries = append(b.Entries, Entry{Position: at, Message: m})
			b.size += len(packed)
			b.count++
		}
		if n := len(b.Entries) - from; n != int(run.GetCount()) {
			return Batch{}, fmt.Errorf("client: %w: a frame says that it holds %d entries and holds %d", sdk.ErrCorrupt, run.GetCount(), n)
		}
	}
	return b, nil
}

// place returns the position of the i-th entry of a run.
func place(run *tidemarkv1.EntryRun, i int) (sdk.Position, bool) {
	at := sdk.Position{Ledger: sdk.LedgerID(run.GetLedger()), Entry: sdk.EntryID(run.GetFirstEntry() + int64(i))}
	if offsets := run.GetOffsets(); len(offsets) > 0 {
		if i >= len(offsets) {
			return at, false
		}
		at.Entry = sdk.EntryID(run.GetFirstEntry() + int64(offsets[i]))
	}
	return at, true
}
