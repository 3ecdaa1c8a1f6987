package scripted

import (
	"context"
	"sync"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Ledgers is a ledger store with a script.
type Ledgers struct {
	Script
	Inner sdk.LedgerStore
}

var _ sdk.LedgerStore = (*Ledgers)(nil)

// Create implements [sdk.LedgerStore].
func (s *Ledgers) Create(ctx context.Context, o sdk.CreateOptions) (sdk.LedgerWriter, error) {
	var w sdk.LedgerWriter
	err := s.call(ctx, Create, func() (err error) {
		w, err = s.Inner.Create(ctx, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &writer{LedgerWriter: w, script: &s.Script}, nil
}

// Open implements [sdk.LedgerStore].
func (s *Ledgers) Open(ctx context.Context, id sdk.LedgerID, mode sdk.OpenMode) (sdk.LedgerReader, error) {
	var r sdk.LedgerReader
	err := s.call(ctx, Open, func() (err error) {
		r, err = s.Inner.Open(ctx, id, mode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &reader{LedgerReader: r, script: &s.Script}, nil
}

// Delete implements [sdk.LedgerStore].
func (s *Ledgers) Delete(ctx context.Context, id sdk.LedgerID) error {
	return s.call(ctx, Delete, func() error { return s.Inner.Delete(ctx, id) })
}

// List implements [sdk.LedgerStore].
func (s *Ledgers) List(ctx context.Context, after sdk.LedgerID, limit int) (ids []sdk.LedgerID, err error) {
	err = s.call(ctx, List, func() (err error) {
		ids, err = s.Inner.List(ctx, after, limit)
		return err
	})
	return ids, err
}

// reader is a handle with a script.
type reader struct {
	sdk.LedgerReader
	script *Script
}

func (r *reader) Read(ctx context.Context, e sdk.Range, done func([][]byte, error)) {
	read(ctx, r.script, r.LedgerReader, e, done)
}

func read(ctx context.Context, s *Script, inner sdk.LedgerReader, e sdk.Range, done func([][]byte, error)) {
	step := s.step(Read)
	if step.Panic {
		panic("scripted panic")
	}
	step.Hold.pass(func() {
		if step.Before != nil {
			step.HoldReply.pass(func() { done(nil, step.Before) })
			return
		}
		inner.Read(ctx, e, func(payloads [][]byte, err error) {
			step.HoldReply.pass(func() {
				if err == nil && step.After != nil {
					payloads, err = nil, step.After
				}
				if err == nil && step.Cut {
					payloads = payloads[:min(step.Keep, len(payloads))]
				}
				if !step.Lose {
					done(payloads, err)
				}
			})
		})
	})
}

// writer is the writer of a ledger with a script.
type writer struct {
	sdk.LedgerWriter
	script *Script

	mu     sync.Mutex // guards broken
	broken error      // the first failure; every later batch fails too
}

func (w *writer) Read(ctx context.Context, e sdk.Range, done func([][]byte, error)) {
	read(ctx, w.script, w.LedgerWriter, e, done)
}

func (w *writer) Seal(ctx context.Context) (last sdk.EntryID, err error) {
	err = w.script.call(ctx, Seal, func() (err error) {
		last, err = w.LedgerWriter.Seal(ctx)
		return err
	})
	return last, err
}

func (w *writer) Append(b sdk.Batch) {
	step := w.script.step(Append)
	if step.Panic {
		panic("scripted panic")
	}
	w.mu.Lock()
	broken := w.broken
	if err := firstOf(step.Before, step.After); err != nil && broken == nil {
		w.broken = err
	}
	w.mu.Unlock()
	done := func(last sdk.EntryID, err error) {
		if step.Lose {
			return
		}
		step.HoldReply.pass(func() {
			b.Done(last, err)
			if step.Repeat {
				b.Done(last, err)
			}
		})
	}
	step.Hold.pass(func() {
		switch {
		case broken != nil:
			done(b.First-1, broken)
		case step.Before != nil:
			done(b.First-1, step.Before)
		default:
			w.store(b, step, done)
		}
	})
}

// store hands a batch, or a part of it, to the store.
func (w *writer) store(b sdk.Batch, step Step, done func(sdk.EntryID, error)) {
	inner := b
	if step.Cut && step.Keep < len(b.Entries) {
		inner.Entries = b.Entries[:step.Keep]
	}
	answer := func(last sdk.EntryID, err error) {
		if err == nil && step.After != nil {
			err = step.After
			if !step.Tell {
				last = b.First - 1
			}
		}
		done(last, err)
	}
	if len(inner.Entries) == 0 {
		answer(b.First-1, nil)
		return
	}
	inner.Done = answer
	w.LedgerWriter.Append(inner)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
