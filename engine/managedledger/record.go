package managedledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark-engine/tidemark/engine/managedledger/recordpb"
	"github.com/tidemark-engine/tidemark/sdk"
)

// record is what is stored about a log, see recordpb.ManagedLedger.
type record struct {
	ledgers    []ledgerSpan
	lac        sdk.Position // of the closed ledgers
	trimmed    sdk.Position
	terminated bool
	properties map[string]string
	owner      string
	removed    []sdk.LedgerID
	deleting   bool
	created    time.Time
}

// recordKey is the metadata key of a log's record.
func recordKey(name string) string { return "topic/" + url.PathEscape(name) }

// cursorPrefix is what the metadata keys of a log's cursors begin with.
func cursorPrefix(name string) string { return "cursor/" + url.PathEscape(name) + "/" }

// cursorKey is the metadata key of a cursor's record.
func cursorKey(name, cursor string) string { return cursorPrefix(name) + url.PathEscape(cursor) }

// storedPosition returns the stored form of a position, positionOf reads it.
func storedPosition(p sdk.Position) *recordpb.Position {
	return &recordpb.Position{Ledger: int64(p.Ledger), Entry: int64(p.Entry)}
}

func positionOf(p *recordpb.Position) sdk.Position {
	return sdk.Position{Ledger: sdk.LedgerID(p.Ledger), Entry: sdk.EntryID(p.Entry)}
}

// encode returns the stored form.
func (r *record) encode() ([]byte, error) {
	out := &recordpb.ManagedLedger{
		LastConfirmed: storedPosition(r.lac),
		Terminated:    r.terminated,
		Properties:    r.properties,
		Owner:         r.owner,
		Deleting:      r.deleting,
		CreatedAt:     r.created.UnixNano(),
	}
	if r.trimmed != notTrimmed {
		out.Trimmed = storedPosition(r.trimmed)
	}
	for _, s := range r.ledgers {
		l := &recordpb.Ledger{Id: int64(s.id), Entries: s.entries, Bytes: s.bytes}
		if !s.open() {
			l.ClosedAt = s.closedAt.UnixNano()
		}
		out.Ledgers = append(out.Ledgers, l)
	}
	for _, id := range r.removed {
		out.Removed = append(out.Removed, int64(id))
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(out)
}

// decodeRecord reads the stored form. What does not describe a log is
// sdk.ErrCorrupt.
func decodeRecord(value []byte) (record, error) {
	var in recordpb.ManagedLedger
	if err := proto.Unmarshal(value, &in); err != nil {
		return record{}, fmt.Errorf("%w: record of a managed ledger: %w", sdk.ErrCorrupt, err)
	}
	r := record{
		lac:        notTrimmed,
		trimmed:    notTrimmed,
		terminated: in.Terminated,
		properties: in.Properties,
		owner:      in.Owner,
		deleting:   in.Deleting,
		created:    time.Unix(0, in.CreatedAt),
	}
	if p := in.LastConfirmed; p != nil {
		r.lac = positionOf(p)
	}
	if p := in.Trimmed; p != nil {
		r.trimmed = positionOf(p)
	}
	for _, l := range in.Ledgers {
		s := ledgerSpan{id: sdk.LedgerID(l.Id), entries: l.Entries, bytes: l.Bytes}
		if l.ClosedAt != 0 {
			s.closedAt = time.Unix(0, l.ClosedAt)
		}
		r.ledgers = append(r.ledgers, s)
	}
	for _, id := range in.Removed {
		r.removed = append(r.removed, sdk.LedgerID(id))
	}
	return r, r.check()
}

// check says what is impossible about a record.
func (r *record) check() error {
	for i, s := range r.ledgers {
		switch {
		case s.id < 0 || s.entries < 0 || s.bytes < 0:
			return fmt.Errorf("%w: record of a managed ledger: ledger %d has %d entries of %d bytes", sdk.ErrCorrupt, s.id, s.entries, s.bytes)
		case i > 0 && s.id <= r.ledgers[i-1].id:
			return fmt.Errorf("%w: record of a managed ledger: ledger %d stands behind ledger %d", sdk.ErrCorrupt, s.id, r.ledgers[i-1].id)
		case s.open() && (i < len(r.ledgers)-1 || s.entries != 0):
			return fmt.Errorf("%w: record of a managed ledger: ledger %d is open, but not the last one or not empty", sdk.ErrCorrupt, s.id)
		}
	}
	if r.lac.Entry < sdk.NoEntry || r.trimmed.After(r.lac) {
		return fmt.Errorf("%w: record of a managed ledger: last confirmed %s, trimmed up to %s", sdk.ErrCorrupt, r.lac, r.trimmed)
	}
	return nil
}

// clone returns a copy to change.
func (r *record) clone() record {
	c := *r
	c.ledgers = slices.Clone(r.ledgers)
	c.removed = slices.Clone(r.removed)
	c.properties = maps.Clone(r.properties)
	return c
}

// settle writes down the true end of the open ledger. An empty one leaves the
// list.
func (r *record) settle(id sdk.LedgerID, entries, bytes int64, now time.Time) {
	last := len(r.ledgers) - 1
	if last < 0 || r.ledgers[last].id != id {
		return
	}
	if entries == 0 {
		r.ledgers = r.ledgers[:last]
		r.removed = append(r.removed, id)
		return
	}
	r.ledgers[last] = ledgerSpan{id: id, entries: entries, bytes: bytes, closedAt: now}
	r.lac = sdk.Position{Ledger: id, Entry: sdk.EntryID(entries - 1)}
}

// put stores next as what is known about the log. It is called by the running
// job only. A conflict with another owner is ErrFenced or ErrDeleting.
func (m *ManagedLedger) put(ctx context.Context, next record) error {
	l := &m.lanes
	next.owner = l.stored.owner
	value, err := next.encode()
	if err != nil {
		return fmt.Errorf("encode the record of managed ledger %q: %w", m.name, err)
	}
	key := recordKey(m.name)
	v, err := m.settings.Metadata.Put(ctx, key, value, l.version)
	if errors.Is(err, sdk.ErrVersionConflict) {
		v, err = m.putOver(ctx, key, value)
	}
	if err != nil {
		return fmt.Errorf("write the record of managed ledger %q: %w", m.name, err)
	}
	l.stored, l.version = next, v
	return nil
}

// putOver settles a version conflict. If what is stored is from this owner, an
// earlier write of it got through although it seemed to fail, and the new one
// goes over it.
func (m *ManagedLedger) putOver(ctx context.Context, key string, value []byte) (sdk.Version, error) {
	found, err := m.settings.Metadata.Get(ctx, key)
	if errors.Is(err, sdk.ErrKeyNotFound) {
		return 0, ErrDeleting
	} else if err != nil {
		return 0, err
	}
	if bytes.Equal(found.Value, value) {
		return found.Version, nil
	}
	stored, err := decodeRecord(found.Value)
	switch {
	case err != nil:
		return 0, err
	case stored.deleting:
		return 0, ErrDeleting
	case stored.owner != m.lanes.stored.owner:
		return 0, ErrFenced
	}
	v, err := m.settings.Metadata.Put(ctx, key, value, found.Version)
	if errors.Is(err, sdk.ErrVersionConflict) {
		return 0, ErrFenced
	}
	return v, err
}
