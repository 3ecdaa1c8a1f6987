// Package memory is a ledger store and metadata store that keeps nothing: for
// tests, and for measuring everything that is above the store.
//
// Adds are acknowledged before Append returns, on the goroutine of the caller.
// Payloads are copied in once, into chunks of their ledger, and handed out
// without copying: readers of the same entry share its bytes, which nobody
// changes.
package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Store implements [sdk.LedgerStore] and [sdk.Plugin]; its metadata store is
// [Store.Metadata].
type Store struct {
	metadata metadata

	mu      sync.RWMutex // guards what follows; taken before a ledger's mutex
	ledgers map[sdk.LedgerID]*ledger
	next    sdk.LedgerID
	closed  bool
}

// Open returns an empty store.
func Open() *Store {
	return &Store{
		metadata: metadata{values: map[string]sdk.Versioned{}},
		ledgers:  map[sdk.LedgerID]*ledger{},
	}
}

// Metadata returns the metadata store that lives and ends with this store.
func (s *Store) Metadata() sdk.MetadataStore { return &s.metadata }

// Info implements [sdk.Plugin].
func (s *Store) Info() sdk.Info {
	return sdk.Info{Name: "memory", Version: "1", Watch: true}
}

// Health implements [sdk.Plugin].
func (s *Store) Health(context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return sdk.ErrClosed
	}
	return nil
}

// Close implements [sdk.Plugin]. The entries are gone.
func (s *Store) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, l := range s.ledgers {
		l.end(sdk.ErrClosed)
	}
	clear(s.ledgers)
	s.metadata.close()
	return nil
}

// Create implements [sdk.LedgerStore].
func (s *Store) Create(ctx context.Context, options sdk.CreateOptions) (sdk.LedgerWriter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := options.Validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, sdk.ErrClosed
	}
	l := newLedger(s.next)
	s.ledgers[l.id] = l
	s.next++
	return &writer{reader: reader{ledger: l}}, nil
}

// Open implements [sdk.LedgerStore].
func (s *Store) Open(ctx context.Context, id sdk.LedgerID, mode sdk.OpenMode) (sdk.LedgerReader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if mode == sdk.OpenRecover {
		if err := l.fence(); err != nil {
			return nil, err
		}
	}
	return &reader{ledger: l}, nil
}

func (s *Store) find(id sdk.LedgerID) (*ledger, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, sdk.ErrClosed
	}
	l := s.ledgers[id]
	if l == nil {
		return nil, fmt.Errorf("ledger %d: %w", id, sdk.ErrLedgerNotFound)
	}
	return l, nil
}

// Delete implements [sdk.LedgerStore].
func (s *Store) Delete(ctx context.Context, id sdk.LedgerID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return sdk.ErrClosed
	}
	l := s.ledgers[id]
	if l == nil {
		return fmt.Errorf("ledger %d: %w", id, sdk.ErrLedgerNotFound)
	}
	delete(s.ledgers, id)
	l.end(sdk.ErrLedgerNotFound)
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
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, sdk.ErrClosed
	}
	var ids []sdk.LedgerID
	for id := range s.ledgers {
		if id > after {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids[:min(limit, len(ids))], nil
}
