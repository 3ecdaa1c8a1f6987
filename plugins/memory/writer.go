package memory

import (
	"context"
	"sync"

	"github.com/tidemark-engine/tidemark/sdk"
)

// writer implements [sdk.LedgerWriter].
type writer struct {
	reader

	failed error // the first failure of Append; touched by the appending goroutine only

	sealing sync.Mutex // guards what follows
	sealed  bool
	last    sdk.EntryID
}

// Append implements [sdk.LedgerWriter]. Done is called before it returns.
func (w *writer) Append(batch sdk.Batch) {
	if w.failed == nil {
		w.failed = w.add(batch)
	}
	if w.failed != nil {
		batch.Done(batch.First-1, w.failed)
		return
	}
	batch.Done(batch.Last(), nil)
}

func (w *writer) add(batch sdk.Batch) error {
	if err := w.usable(); err != nil {
		return err
	}
	return w.ledger.add(batch)
}

// Seal implements [sdk.LedgerWriter].
func (w *writer) Seal(ctx context.Context) (sdk.EntryID, error) {
	if err := ctx.Err(); err != nil {
		return sdk.NoEntry, err
	}
	if err := w.usable(); err != nil {
		return sdk.NoEntry, err
	}
	w.sealing.Lock()
	defer w.sealing.Unlock()
	if w.sealed {
		return w.last, nil
	}
	last, err := w.ledger.seal()
	if err != nil {
		return sdk.NoEntry, err
	}
	w.sealed, w.last = true, last
	return last, nil
}
