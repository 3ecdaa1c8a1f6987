package pebble

import (
	"context"

	"github.com/tidemark-engine/tidemark/sdk"
)

// writer implements [sdk.LedgerWriter].
type writer struct {
	reader
	sealed bool // this handle closed the ledger; guarded by the ledger's settling
}

// Append implements [sdk.LedgerWriter].
func (w *writer) Append(batch sdk.Batch) {
	if refused := w.store.in.add(w.ledger, batch); refused != nil {
		batch.Done(batch.First-1, refused)
	}
}

// Seal implements [sdk.LedgerWriter].
func (w *writer) Seal(ctx context.Context) (sdk.EntryID, error) {
	if err := ctx.Err(); err != nil {
		return sdk.NoEntry, err
	}
	l, s := w.ledger, w.store
	if w.closed.Load() {
		return sdk.NoEntry, l.wrap(sdk.ErrClosed)
	}
	s.in.stop(l, sdk.ErrClosed)
	if err := s.idle(ctx, l); err != nil {
		return sdk.NoEntry, err
	}
	if err := l.settle(ctx); err != nil {
		return sdk.NoEntry, err
	}
	defer l.settled()
	state := *l.state.Load()
	switch {
	case l.gone.Load():
		return sdk.NoEntry, l.wrap(sdk.ErrLedgerNotFound)
	case w.sealed:
	case state.Closed:
		return sdk.NoEntry, l.wrap(sdk.ErrFenced)
	default:
		if err := s.close(ctx, l, state); err != nil {
			return sdk.NoEntry, err
		}
		w.sealed = true
	}
	return state.LastConfirmed, nil
}

// Close implements [sdk.LedgerReader]. What was handed over is still written.
func (w *writer) Close() error {
	if !w.closed.Swap(true) {
		w.store.in.stop(w.ledger, sdk.ErrClosed)
		w.store.in.whenIdle(w.ledger, func() { w.store.release(w.ledger) })
	}
	return nil
}
