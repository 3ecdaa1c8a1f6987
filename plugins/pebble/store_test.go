package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

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

// A ledger that is recovered as soon as it can be found fences the writer that
// Create is about to return.
func TestAWriterIsFencedFromTheFirstMoment(t *testing.T) {
	ctx := context.Background()
	o := inMemory(vfs.NewMem())
	o.SyncDelay = time.Millisecond // A ledger can be found before Create returns.
	s := mustOpen(t, memDir, o)
	const ledgers = 100
	var recovering sync.WaitGroup
	recovering.Go(func() {
		for after := sdk.LedgerID(-1); after < ledgers-1; {
			ids, err := s.List(ctx, after, 10)
			if err != nil {
				t.Error(err)
				return
			}
			for _, id := range ids {
				r, err := s.Open(ctx, id, sdk.OpenRecover)
				if err != nil {
					t.Error(err)
					return
				}
				r.Close()
				after = id
			}
		}
	})
	acked := map[sdk.LedgerID]bool{}
	for range ledgers {
		w := mustCreate(t, s)
		acked[w.ID()] = add(w, 0, []byte("x")) == nil
		w.Close()
	}
	recovering.Wait()
	for id, was := range acked {
		if _, err := read(open(t, s, id, sdk.OpenRead), 0, 0); was != (err == nil) {
			t.Errorf("ledger %d: acknowledged %v, read: %v", id, was, err)
		}
	}
}

// A Create whose context ends leaves no handle behind, whenever it ends.
func TestACreateThatIsGivenUpLeavesNothingOpen(t *testing.T) {
	s := mustOpen(t, memDir, inMemory(vfs.NewMem()))
	for range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		if w, err := s.Create(ctx, sdk.CreateOptions{}); err == nil {
			w.Close()
		}
	}
	mustCreate(t, s).Close() // All before it have ended.
	if open := pebble.OpenLedgers(s); open != 0 {
		t.Errorf("%d ledgers are still open", open)
	}
}
