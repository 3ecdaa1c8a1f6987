package managedledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// Read reads from a position on what is readable now, without a cursor: an empty
// result means that there is nothing. Where from was trimmed, the result says so
// and begins at the first entry that is kept. [Start] and [ManagedLedger.Resolve]
// give positions. It may use the calling goroutine for as long as the store
// takes.
func (m *ManagedLedger) Read(ctx context.Context, from sdk.Position, max Max) (ReadResult, error) {
	return m.read(ctx, from, max, ReadOptions{})
}

// ReadOrWait is Read that waits until there is something to read. When the log
// was terminated and read to its end the error is reason.ErrNoMoreEntries.
func (m *ManagedLedger) ReadOrWait(ctx context.Context, from sdk.Position, max Max) (ReadResult, error) {
	return m.read(ctx, from, max, ReadOptions{Wait: true})
}

func (m *ManagedLedger) read(ctx context.Context, from sdk.Position, max Max, o ReadOptions) (ReadResult, error) {
	if from.Ledger < 0 || from.Entry < sdk.NoEntry {
		return ReadResult{}, fmt.Errorf("read from %s: %w", from, reason.ErrPositionInvalid)
	}
	r := &reader{m: m, place: from}
	return r.readHere(ctx, max, o)
}

// FindTime returns the position of the first entry that was published at or
// after t, or of the tail if there is none. Entries without a publish time
// count as published later. Where publish times do not rise, it is one of the
// places where they pass t.
func (m *ManagedLedger) FindTime(ctx context.Context, t time.Time) (sdk.Position, error) {
	if m.settings.PublishTime == nil {
		return sdk.Position{}, fmt.Errorf("find by publish time: %w: entries have none here", sdk.ErrUnsupported)
	}
	v := m.current()
	if len(v.ledgers) == 0 {
		return v.tail(), nil
	}
	begin := sdk.Position{Ledger: v.ledgers[0].id, Entry: sdk.NoEntry}
	low, high := int64(1), v.count(v.lac)+1 // ranks; the answer is in between
	end := high
	for low < high {
		middle := low + (high-low)/2
		earlier, err := m.publishedBefore(ctx, v.nth(begin, middle), t)
		if err != nil {
			return sdk.Position{}, fmt.Errorf("find the first entry published at or after %s: %w", t, err)
		}
		if earlier {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == end {
		at, _ := m.current().start(v.lac.Next())
		return at, nil
	}
	at, _ := m.current().start(v.nth(begin, low))
	return at, nil
}

// publishedBefore says whether the entry at p, or the first one kept behind it,
// was published before t.
func (m *ManagedLedger) publishedBefore(ctx context.Context, p sdk.Position, t time.Time) (bool, error) {
	got, err := m.Read(ctx, p, Max{Entries: 1})
	if err != nil || len(got.Entries) == 0 {
		return false, err
	}
	published, known := m.settings.PublishTime(got.Entries[0].Payload)
	return known && published.Before(t), nil
}

// ended returns why a log in this state cannot be read.
func (v *view) ended() error {
	switch v.state {
	case StateFenced:
		return ErrFenced
	case StateDeleting:
		return ErrDeleting
	}
	return ErrClosed
}

// ended returns why the log's work has ended, also before its state says so.
func (m *ManagedLedger) ended() error {
	if v := m.current(); !v.state.readable() {
		return v.ended()
	}
	m.intake.mu.Lock()
	defer m.intake.mu.Unlock()
	if err := m.intake.closed; errors.Is(err, ErrFenced) || errors.Is(err, ErrDeleting) {
		return err
	}
	return ErrClosed
}
