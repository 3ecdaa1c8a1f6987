package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Create implements [sdk.LedgerStore].
func (s *Store) Create(ctx context.Context, options sdk.CreateOptions) (sdk.LedgerWriter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := options.Validate(); err != nil {
		return nil, err
	}
	c := &creation{store: s, options: options}
	if err := s.hand(ctx, &change{grows: true, put: c.put, done: c.done}); err != nil {
		c.giveUp()
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	return &writer{reader: reader{store: s, ledger: c.ledger}}, nil
}

// Open implements [sdk.LedgerStore].
func (s *Store) Open(ctx context.Context, id sdk.LedgerID, mode sdk.OpenMode) (sdk.LedgerReader, error) {
	l, err := s.acquire(ctx, id)
	if err != nil {
		return nil, err
	}
	if mode == sdk.OpenRecover {
		if err := s.recover(ctx, l); err != nil {
			s.release(l)
			return nil, err
		}
	}
	return &reader{store: s, ledger: l}, nil
}

// Delete implements [sdk.LedgerStore].
func (s *Store) Delete(ctx context.Context, id sdk.LedgerID) error {
	l, err := s.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer s.release(l)
	if err := s.stopWriting(ctx, l, sdk.ErrLedgerNotFound); err != nil {
		return err
	}
	defer l.settled()
	if l.gone.Load() {
		return l.wrap(sdk.ErrLedgerNotFound)
	}
	return s.write(ctx, func(batch *pebble.Batch) error {
		if err := batch.Delete(ledgerKey(id), nil); err != nil {
			return err
		}
		l.gone.Store(true) // before readers can miss the first block
		from, below := blocksOf(id)
		return batch.DeleteRange(from, below, nil)
	}, func(err error) {
		switch {
		case errors.Is(err, sdk.ErrUnknownOutcome):
			s.forget(l)
		case err != nil:
			l.gone.Store(false)
		default:
			s.committer.keeper.reclaim.note(id)
		}
	})
}

// forget makes later handles look at what is stored.
func (s *Store) forget(l *ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ledgers[l.id] == l {
		delete(s.ledgers, l.id)
	}
}

// stopWriting makes later adds fail with why, waits until none is on its way
// and then settles: if it returns nil, the caller calls l.settled.
func (s *Store) stopWriting(ctx context.Context, l *ledger, why error) error {
	s.in.refuse(l, why)
	if err := s.idle(ctx, l); err != nil {
		return err
	}
	return l.settle(ctx)
}

// idle waits until no add to the ledger is on its way.
func (s *Store) idle(ctx context.Context, l *ledger) error {
	idle := make(chan struct{})
	s.in.whenIdle(l, func() { close(idle) })
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recover fences the writer and closes the ledger at the last entry that is
// stored.
func (s *Store) recover(ctx context.Context, l *ledger) error {
	if l.state.Load().Closed {
		return nil
	}
	if err := s.stopWriting(ctx, l, sdk.ErrFenced); err != nil {
		return err
	}
	defer l.settled()
	if l.gone.Load() {
		return l.wrap(sdk.ErrLedgerNotFound)
	}
	if l.state.Load().Closed {
		return nil
	}
	state, err := s.lastBlock(l.id)
	if err != nil {
		return l.wrap(err)
	}
	return s.close(ctx, l, state)
}

// close stores that the ledger is closed at state. The caller has settled.
func (s *Store) close(ctx context.Context, l *ledger, state sdk.LedgerState) error {
	state.Closed = true
	found, err := s.record(l.id)
	if err != nil {
		return l.wrap(err)
	}
	found.closed, found.last, found.bytes = true, state.LastConfirmed, state.Bytes
	err = s.write(ctx, func(batch *pebble.Batch) error {
		key := ledgerKey(l.id)
		return batch.Set(key, found.encode(key), nil)
	}, func(err error) {
		if err == nil {
			l.publish(state)
		}
	})
	if err != nil {
		return l.wrap(err)
	}
	return nil
}

// List implements [sdk.LedgerStore].
func (s *Store) List(ctx context.Context, after sdk.LedgerID, limit int) ([]sdk.LedgerID, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("%w: limit %d", sdk.ErrInvalid, limit)
	}
	var ids []sdk.LedgerID
	from, below := ledgerKey(max(after, -1)+1), []byte{ledgerKind + 1}
	err := s.database.iterate(from, below, func(iter *pebble.Iterator) error {
		for iter.First(); iter.Valid() && len(ids) < limit; iter.Next() {
			if len(iter.Key()) != ledgerKeyBytes {
				return fmt.Errorf("%w: key %x", sdk.ErrCorrupt, iter.Key())
			}
			ids = append(ids, sdk.LedgerID(binary.BigEndian.Uint64(iter.Key()[1:])))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list ledgers: %w", err)
	}
	return ids, nil
}

// acquire returns the ledger with one more handle. Whoever got it calls release.
func (s *Store) acquire(ctx context.Context, id sdk.LedgerID) (*ledger, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, sdk.ErrClosed
	}
	l := s.ledgers[id]
	if l == nil {
		l = newLedger(id)
		l.refusal = l.wrap(sdk.ErrFenced) // whoever wrote it is gone
		s.ledgers[id] = l
	}
	l.handles++
	s.mu.Unlock()
	if err := s.load(ctx, l); err != nil {
		s.release(l)
		return nil, err
	}
	return l, nil
}

// release gives a handle up.
func (s *Store) release(l *ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.handles--; l.handles == 0 && s.ledgers[l.id] == l {
		delete(s.ledgers, l.id)
	}
}

// load reads the ledger's state if nobody did.
func (s *Store) load(ctx context.Context, l *ledger) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !l.loaded.Load() {
		if err := l.settle(ctx); err != nil {
			return err
		}
		defer l.settled()
	}
	if l.gone.Load() {
		return l.wrap(sdk.ErrLedgerNotFound)
	}
	if l.loaded.Load() {
		return nil
	}
	found, err := s.record(l.id)
	if err != nil {
		return l.wrap(err)
	}
	state := sdk.LedgerState{LastConfirmed: found.last, Bytes: found.bytes, Closed: found.closed}
	if !found.closed {
		if state, err = s.lastBlock(l.id); err != nil {
			return l.wrap(err)
		}
	}
	l.publish(state)
	return nil
}

// record reads a ledger's record.
func (s *Store) record(id sdk.LedgerID) (found record, err error) {
	key := ledgerKey(id)
	err = s.database.get(key, func(value []byte) error {
		found, err = parseRecord(key, value)
		return err
	})
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		err = sdk.ErrLedgerNotFound
	case errors.Is(err, errRecord):
		err = fmt.Errorf("%w: %w", sdk.ErrCorrupt, err)
	}
	return found, err
}
