package storage_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/storage"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
)

// shared is a store that the suite may not close, because its user goes on.
type shared struct{ *memory.Store }

func (shared) Close(context.Context) error { return nil }

// S-078: the suite, run twice over a store that somebody uses, leaves what it
// did not make as it was.
func TestS078TheUsersDataStays(t *testing.T) {
	store := memory.Open()
	defer store.Close(context.Background())
	before := furnish(t, store)
	harness := storage.Harness{Patience: 300 * time.Millisecond, Open: func(string) (storage.Store, error) {
		return storage.Store{Plugin: shared{store}, Ledgers: store, Metadata: store.Metadata()}, nil
	}}
	for range 2 {
		for _, clause := range storage.Clauses() {
			harness.Check(clause, t.TempDir()) // what it finds is not the question here
		}
	}
	if after := contents(t, store); !slices.Equal(after, before) {
		t.Errorf("before %v\nafter  %v", before, after)
	}
}

const usersLedgers = 5

// furnish makes a user's ledgers and keys, and returns what they hold.
func furnish(t *testing.T, store *memory.Store) []string {
	t.Helper()
	ctx := context.Background()
	for i := range usersLedgers {
		w, err := store.Create(ctx, sdk.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.Append(sdk.Batch{Entries: [][]byte{fmt.Append(nil, "entry of ", i)}, Done: func(_ sdk.EntryID, err error) {
			if err != nil {
				t.Error(err)
			}
		}})
	}
	for _, key := range []string{"topic/a", "topic/b"} {
		if _, err := store.Metadata().Put(ctx, key, []byte("value of "+key), sdk.NoVersion); err != nil {
			t.Fatal(err)
		}
	}
	return contents(t, store)
}

// contents returns what the user's ledgers and keys hold.
func contents(t *testing.T, store *memory.Store) []string {
	t.Helper()
	ctx := context.Background()
	ids, err := store.List(ctx, -1, usersLedgers)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, id := range ids {
		r, err := store.Open(ctx, id, sdk.OpenRead)
		if err != nil {
			t.Fatal(err)
		}
		state := r.State()
		r.Read(ctx, sdk.Range{Last: state.LastConfirmed}, func(payloads [][]byte, err error) {
			all = append(all, fmt.Sprintf("%d: %q closed=%t %v", id, payloads, state.Closed, err))
		})
	}
	keys, err := store.Metadata().List(ctx, "topic/", "", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		all = append(all, fmt.Sprintf("%s=%s@%d", key.Key, key.Value, key.Version))
	}
	return all
}
