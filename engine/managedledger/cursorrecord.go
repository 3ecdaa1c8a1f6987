package managedledger

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark-engine/tidemark/engine/managedledger/ackset"
	"github.com/tidemark-engine/tidemark/engine/managedledger/recordpb"
	"github.com/tidemark-engine/tidemark/sdk"
)

// cursorRecord is what is stored about a cursor, see recordpb.Cursor.
type cursorRecord struct {
	mark   sdk.Position
	ranges []ackset.Range
	owner  string
}

// snapshot returns what is to be stored now, and whether that leaves something
// out for the first time. Called with mu.
func (c *Cursor) snapshot() (r cursorRecord, cut bool) {
	ranges, leftOut := c.acks.Snapshot(c.m.config().MaxAckRanges)
	cut = leftOut > 0 && c.saver.leftOut == 0
	c.saver.leftOut = leftOut
	return cursorRecord{mark: c.acks.MarkDelete(), ranges: ranges, owner: c.m.cursors.owner}, cut
}

// warnCut says, once for each time that the limit is crossed, what that means.
func (c *Cursor) warnCut() {
	c.m.log.Warn("too many ranges of acknowledged entries; those left out come again after a crash",
		"cursor", c.name, "limit", c.m.config().MaxAckRanges)
}

// encode returns the stored form.
func (r *cursorRecord) encode() ([]byte, error) {
	out := &recordpb.Cursor{
		MarkDelete: storedPosition(r.mark),
		Owner:      r.owner,
	}
	if len(r.ranges) > 0 {
		all := make([]recordpb.AckRange, len(r.ranges))
		out.Ranges = make([]*recordpb.AckRange, len(r.ranges))
		for i, a := range r.ranges {
			all[i].Ledger, all[i].After, all[i].UpTo = int64(a.Ledger), int64(a.First)-1, int64(a.Last)
			out.Ranges[i] = &all[i]
		}
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the record of a cursor: %w", err)
	}
	return value, nil
}

// decodeCursor reads the stored form. What does not describe a cursor is
// sdk.ErrCorrupt.
func decodeCursor(value []byte) (cursorRecord, error) {
	var in recordpb.Cursor
	if err := proto.Unmarshal(value, &in); err != nil {
		return cursorRecord{}, fmt.Errorf("%w: record of a cursor: %w", sdk.ErrCorrupt, err)
	}
	p := in.MarkDelete
	if p == nil || p.Ledger < 0 || p.Entry < int64(sdk.NoEntry) {
		return cursorRecord{}, fmt.Errorf("%w: record of a cursor: mark-delete position %v", sdk.ErrCorrupt, p)
	}
	r := cursorRecord{mark: positionOf(p), owner: in.Owner}
	for _, a := range in.Ranges {
		if a.After < int64(sdk.NoEntry) || a.After >= a.UpTo {
			return cursorRecord{}, fmt.Errorf("%w: record of a cursor: acknowledged range %v", sdk.ErrCorrupt, a)
		}
		r.ranges = append(r.ranges, ackset.Range{Ledger: sdk.LedgerID(a.Ledger), First: sdk.EntryID(a.After) + 1, Last: sdk.EntryID(a.UpTo)})
	}
	return r, nil
}

// restore makes the cursor what a record says. The set takes the ranges or says
// why it cannot. What lies beyond the end of the log is forgotten: entries that
// come there are new.
func (c *Cursor) restore(r cursorRecord) error {
	v := c.m.current()
	mark := r.mark
	if end := v.end(); mark.After(end) {
		if mark.Entry != sdk.NoEntry { // else it stood before an empty ledger, which has left the log
			c.m.log.Warn("cursor stood beyond the end of the log and is set back to it", "cursor", c.name, "stood at", mark, "end", end)
		}
		mark = end
	}
	if err := c.acks.Restore(mark, r.ranges); err != nil {
		return err
	}
	c.acks.Clip(v.lac)
	c.place = c.acks.MarkDelete().Next()
	c.saver.saved = mark
	return nil
}

// end returns the last position that may be acknowledged: the last confirmed
// entry or, behind it, the place before the first entry of an empty ledger.
func (v *view) end() sdk.Position {
	if id, open := v.openLedger(); open && id > v.lac.Ledger {
		return sdk.Position{Ledger: id, Entry: sdk.NoEntry}
	}
	return v.lac
}
