package pebble

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// reader implements [sdk.LedgerReader].
type reader struct {
	store  *Store
	ledger *ledger
	closed atomic.Bool
}

// ID implements [sdk.LedgerReader].
func (r *reader) ID() sdk.LedgerID { return r.ledger.id }

// State implements [sdk.LedgerReader].
func (r *reader) State() sdk.LedgerState { return *r.ledger.state.Load() }

// Read implements [sdk.LedgerReader], on the goroutine of the caller.
func (r *reader) Read(ctx context.Context, want sdk.Range, done func([][]byte, error)) {
	done(r.read(ctx, want))
}

func (r *reader) read(ctx context.Context, want sdk.Range) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.closed.Load() {
		return nil, r.ledger.wrap(sdk.ErrClosed)
	}
	if r.ledger.gone.Load() {
		return nil, r.ledger.wrap(sdk.ErrLedgerNotFound)
	}
	if err := want.Within(r.State().LastConfirmed); err != nil {
		return nil, r.ledger.wrap(err)
	}
	payloads, err := r.store.scan(ctx, r.ledger.id, want)
	if err != nil {
		if r.ledger.gone.Load() {
			err = sdk.ErrLedgerNotFound // The blocks went before the read came to them.
		}
		return nil, r.ledger.wrap(err)
	}
	return payloads, nil
}

// Close implements [sdk.LedgerReader].
func (r *reader) Close() error {
	if !r.closed.Swap(true) {
		r.store.release(r.ledger)
	}
	return nil
}

// scan reads the entries of a range that is known to be there.
func (s *Store) scan(ctx context.Context, id sdk.LedgerID, want sdk.Range) (found [][]byte, err error) {
	_, below := blocksOf(id)
	err = s.database.iterate(blockKey(id, want.First), below, func(iter *pebble.Iterator) error {
		found, err = collect(ctx, iter, want)
		return err
	})
	return found, err
}

// collect reads blocks until the range is complete or cut by its bytes.
func collect(ctx context.Context, iter *pebble.Iterator, want sdk.Range) ([][]byte, error) {
	limit := want.MaxBytes
	if limit == 0 {
		limit = math.MaxInt
	}
	var found [][]byte
	next := want.First
	for valid := iter.First(); ; valid = iter.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := blockAt(iter, valid, next)
		if err != nil {
			return nil, err
		}
		part := b.collect(next, min(b.last, want.Last), limit, len(found) == 0)
		if found == nil {
			found = part.payloads
		} else {
			found = append(slices.Grow(found, min(int(want.Last-next)+1, growEntries)), part.payloads...)
		}
		next += sdk.EntryID(len(part.payloads))
		if limit -= part.bytes; part.full || next > want.Last {
			return found, nil
		}
	}
}

// growEntries is for how many entries to come a list makes room ahead.
const growEntries = 4 << 10

// blockAt returns the block where the iterator stands, which must hold next.
func blockAt(iter *pebble.Iterator, valid bool, next sdk.EntryID) (block, error) {
	if !valid {
		if err := iter.Error(); err != nil {
			return block{}, fmt.Errorf("entry %d: %w", next, readFailure(err))
		}
		return block{}, fmt.Errorf("%w: entry %d and what follows it is missing", sdk.ErrCorrupt, next)
	}
	value, err := iter.ValueAndErr()
	if err != nil {
		return block{}, fmt.Errorf("entries %d to %d: %w", next, lastOfBlock(iter.Key()), readFailure(err))
	}
	b, err := parseBlock(iter.Key(), value)
	if err != nil {
		return block{}, fmt.Errorf("%w: entries %d to %d: %w", sdk.ErrCorrupt, next, lastOfBlock(iter.Key()), err)
	}
	if b.first > next {
		return block{}, fmt.Errorf("%w: entries %d to %d are missing", sdk.ErrCorrupt, next, b.first-1)
	}
	return b, nil
}

// lastBlock returns where the blocks of a ledger end.
func (s *Store) lastBlock(id sdk.LedgerID) (sdk.LedgerState, error) {
	state := sdk.LedgerState{LastConfirmed: sdk.NoEntry}
	from, below := blocksOf(id)
	err := s.database.iterate(from, below, func(iter *pebble.Iterator) error {
		if !iter.Last() {
			return nil
		}
		b, err := blockAt(iter, true, lastOfBlock(iter.Key()))
		state = sdk.LedgerState{LastConfirmed: b.last, Bytes: b.total}
		return err
	})
	return state, err
}
