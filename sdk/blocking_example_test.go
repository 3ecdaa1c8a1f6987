package sdk_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tidemark-engine/tidemark/sdk"
)

// mapStore is the smallest store: ledgers in a map.
type mapStore struct {
	mu      sync.Mutex // guards what follows
	ledgers map[sdk.LedgerID]*mapLedger
	next    sdk.LedgerID
}

type mapLedger struct {
	entries [][]byte
	closed  bool
}

func (s *mapStore) find(id sdk.LedgerID) (*mapLedger, error) {
	if l := s.ledgers[id]; l != nil {
		return l, nil
	}
	return nil, sdk.ErrLedgerNotFound
}

func (s *mapStore) Create(context.Context, sdk.CreateOptions) (sdk.LedgerID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.next
	s.next++
	s.ledgers[id] = &mapLedger{}
	return id, nil
}

func (s *mapStore) Append(id sdk.LedgerID, _ sdk.EntryID, entries [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.find(id)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		l.entries = append(l.entries, slices.Clone(entry))
	}
	return nil
}

func (s *mapStore) Read(_ context.Context, id sdk.LedgerID, r sdk.Range) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(l.entries[r.First : r.Last+1]), nil
}

func (s *mapStore) State(_ context.Context, id sdk.LedgerID) (sdk.LedgerState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.find(id)
	if err != nil {
		return sdk.LedgerState{}, err
	}
	return sdk.LedgerState{
		LastConfirmed: sdk.EntryID(len(l.entries)) - 1,
		Bytes:         int64(sdk.Batch{Entries: l.entries}.Bytes()),
		Closed:        l.closed,
	}, nil
}

func (s *mapStore) Seal(_ context.Context, id sdk.LedgerID, last sdk.EntryID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.find(id)
	if err != nil {
		return err
	}
	l.entries, l.closed = l.entries[:last+1], true
	return nil
}

func (s *mapStore) Delete(_ context.Context, id sdk.LedgerID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.find(id)
	delete(s.ledgers, id)
	return err
}

func (s *mapStore) List(_ context.Context, after sdk.LedgerID, limit int) ([]sdk.LedgerID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Sorted(maps.Keys(s.ledgers))
	from, found := slices.BinarySearch(ids, after)
	if found {
		from++
	}
	return ids[from:min(from+limit, len(ids))], nil
}

// A store that simply blocks becomes a full one.
func ExampleNewBlocking() {
	ctx := context.Background()
	store := sdk.NewBlocking(&mapStore{ledgers: map[sdk.LedgerID]*mapLedger{}}, sdk.Info{Name: "map", Version: "1"})
	writer, err := store.Create(ctx, sdk.CreateOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	writer.Append(sdk.Batch{First: 0, Entries: [][]byte{[]byte("high"), []byte("water")}, Done: func(last sdk.EntryID, err error) {
		fmt.Println("acknowledged up to", last, err)
	}})
	last, err := writer.Seal(ctx)
	fmt.Println("sealed at", last, err)
	writer.Read(ctx, sdk.Range{First: 0, Last: last}, func(payloads [][]byte, err error) {
		fmt.Printf("%s %v\n", payloads, err)
	})
	fmt.Println(store.Close(ctx))
	// Output:
	// acknowledged up to 1 <nil>
	// sealed at 1 <nil>
	// [high water] <nil>
	// <nil>
}
