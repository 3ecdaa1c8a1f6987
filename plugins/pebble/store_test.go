package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

var (
	_ sdk.LedgerStore = (*pebble.Store)(nil)
	_ sdk.Plugin      = (*pebble.Store)(nil)
)

func TestEntriesAndMetadataOutliveTheStore(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	store, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	writer, err := store.Create(ctx, sdk.CreateOptions{Labels: map[string]string{"topic": "t"}})
	if err != nil {
		t.Fatal(err)
	}
	outcome := make(chan error, 3)
	for i := range 3 {
		entries := [][]byte{fmt.Appendf(nil, "entry %d", 2*i), {}}
		writer.Append(sdk.Batch{First: sdk.EntryID(2 * i), Entries: entries, Done: func(last sdk.EntryID, err error) {
			if want := sdk.EntryID(2*i + 1); err == nil && last != want {
				err = fmt.Errorf("last is %d, not %d", last, want)
			}
			outcome <- err
		}})
	}
	for range 3 {
		if err := <-outcome; err != nil {
			t.Fatal(err)
		}
	}
	version, err := store.Metadata().Put(ctx, "key", []byte("value"), sdk.NoVersion)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(ctx); err != nil {
		t.Fatal(err)
	}

	store, err = pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(ctx)
	if got, err := store.Metadata().Get(ctx, "key"); err != nil || string(got.Value) != "value" || got.Version != version {
		t.Fatalf("%+v, %v", got, err)
	}
	reader, err := store.Open(ctx, writer.ID(), sdk.OpenRecover)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := reader.State(), (sdk.LedgerState{LastConfirmed: 5, Bytes: 21, Closed: true}); got != want {
		t.Fatalf("state %+v, want %+v", got, want)
	}
	reader.Read(ctx, sdk.Range{First: 1, Last: 4}, func(payloads [][]byte, err error) {
		if got := fmt.Sprintf("%q, %v", payloads, err); got != `["" "entry 2" "" "entry 4"], <nil>` {
			t.Fatal(got)
		}
	})
	reader.Close()
	if err := store.Delete(ctx, writer.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(ctx, writer.ID(), sdk.OpenRead); !errors.Is(err, sdk.ErrLedgerNotFound) {
		t.Fatalf("after Delete: %v", err)
	}
	if _, err := store.Create(ctx, sdk.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Pebble begins with small tables in memory and does not write them out before
// they are half of a full one together.
func TestManyEntriesSoonAfterTheStart(t *testing.T) {
	s := mustOpen(t, memDir, pebble.Options{FS: vfs.NewMem()})
	fill(t, mustCreate(t, s), 0, 400, 100<<10)
}
