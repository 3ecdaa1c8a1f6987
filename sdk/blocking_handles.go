package sdk

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// blockingReader implements [LedgerReader].
type blockingReader struct {
	ledger *blockingLedger
	closed atomic.Bool
}

// ID implements [LedgerReader].
func (r *blockingReader) ID() LedgerID { return r.ledger.id }

// State implements [LedgerReader].
func (r *blockingReader) State() LedgerState { return *r.ledger.state.Load() }

// Read implements [LedgerReader], on the goroutine of the caller.
func (r *blockingReader) Read(ctx context.Context, want Range, done func([][]byte, error)) {
	payloads, err := r.read(ctx, want)
	if err != nil {
		done(nil, err)
		return
	}
	done(payloads, nil)
}

func (r *blockingReader) read(ctx context.Context, want Range) ([][]byte, error) {
	l := r.ledger
	if r.closed.Load() {
		return nil, l.wrap(ErrClosed)
	}
	if err := l.owner.enter(ctx); err != nil {
		return nil, err
	}
	defer l.owner.busy.Done()
	if l.gone.Load() {
		return nil, l.wrap(ErrLedgerNotFound)
	}
	if err := want.Within(r.State().LastConfirmed); err != nil {
		return nil, l.wrap(err)
	}
	var payloads [][]byte
	err := guarded(func() (err error) {
		payloads, err = l.owner.store.Read(ctx, l.id, want)
		return err
	})
	if err == nil {
		payloads, err = cut(payloads, want)
	}
	switch {
	case err == nil:
		return payloads, nil
	case l.gone.Load():
		return nil, l.wrap(ErrLedgerNotFound)
	case errors.Is(err, ErrEntryNotFound), errors.Is(err, ErrLedgerNotFound):
		return nil, l.wrap(fmt.Errorf("%w: entries %d to %d were acknowledged, but the store says: %v", ErrCorrupt, want.First, want.Last, err))
	default:
		return nil, l.wrap(err)
	}
}

// cut keeps what the range asks for of what a store returned.
func cut(payloads [][]byte, want Range) ([][]byte, error) {
	count := int(want.Last-want.First) + 1
	payloads = payloads[:min(len(payloads), count)]
	size := 0
	for i, payload := range payloads {
		size += len(payload)
		if want.MaxBytes > 0 && size > want.MaxBytes && i > 0 {
			return payloads[:i], nil
		}
	}
	if len(payloads) == 0 || len(payloads) < count && (want.MaxBytes == 0 || size < want.MaxBytes) {
		return nil, fmt.Errorf("%w: the store returns %d of the entries %d to %d", ErrCorrupt, len(payloads), want.First, want.Last)
	}
	return payloads, nil
}

// Close implements [LedgerReader].
func (r *blockingReader) Close() error {
	if !r.closed.Swap(true) {
		r.ledger.owner.release(r.ledger)
	}
	return nil
}

// blockingWriter implements [LedgerWriter].
type blockingWriter struct {
	blockingReader
	sealed bool // this handle closed the ledger; guarded by the ledger's settling
}

// Append implements [LedgerWriter].
func (w *blockingWriter) Append(batch Batch) {
	if refused := w.ledger.add(batch); refused != nil {
		batch.Done(batch.First-1, refused)
	}
}

// Seal implements [LedgerWriter].
func (w *blockingWriter) Seal(ctx context.Context) (EntryID, error) {
	l := w.ledger
	if w.closed.Load() {
		return NoEntry, l.wrap(ErrClosed)
	}
	if err := l.owner.enter(ctx); err != nil {
		return NoEntry, err
	}
	defer l.owner.busy.Done()
	l.stop(ErrClosed)
	if err := l.settle(ctx); err != nil {
		return NoEntry, err
	}
	defer l.settled()
	state := *l.state.Load()
	switch {
	case l.gone.Load():
		return NoEntry, l.wrap(ErrLedgerNotFound)
	case w.sealed:
	case state.Closed:
		return NoEntry, l.wrap(ErrFenced)
	default:
		if err := l.close(ctx, state); err != nil {
			return NoEntry, err
		}
		w.sealed = true
	}
	return state.LastConfirmed, nil
}

// Close implements [LedgerReader]. What was handed over is still stored.
func (w *blockingWriter) Close() error {
	if !w.closed.Swap(true) {
		w.ledger.stop(ErrClosed)
		w.ledger.idle(func() { w.ledger.owner.release(w.ledger) })
	}
	return nil
}
