package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

const memDir = "/store"

func inMemory(fs vfs.FS) pebble.Options {
	o := small()
	o.FS = fs
	return o
}

// S-004: what is acknowledged under defaults is on stable storage.
func TestS004AcknowledgedEntriesSurviveAPowerCut(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	s := mustOpen(t, memDir, pebble.Options{FS: disk})
	w := mustCreate(t, s)
	fill(t, w, 0, 99, 100)
	after := mustOpen(t, memDir, pebble.Options{FS: disk.CrashClone(vfs.CrashCloneCfg{})})
	r := open(t, after, w.ID(), sdk.OpenRecover)
	if got := r.State().LastConfirmed; got != 99 {
		t.Fatalf("ends at %d, want 99", got)
	}
	check(t, r, 99, 100)
}

// The setting whose name says so does lose entries in a power cut.
func TestS004AcknowledgeBeforeSyncIsAskedForByName(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	s := mustOpen(t, memDir, pebble.Options{FS: disk, AcknowledgeBeforeSync: true})
	w := mustCreate(t, s)
	fill(t, w, 0, 99, 100)
	after := mustOpen(t, memDir, pebble.Options{FS: disk.CrashClone(vfs.CrashCloneCfg{})})
	if _, err := after.Open(context.Background(), w.ID(), sdk.OpenRead); !errors.Is(err, sdk.ErrLedgerNotFound) {
		t.Errorf("the ledger was synced although nobody asked: %v", err)
	}
	mustClose(t, s) // Close syncs.
	after = mustOpen(t, memDir, pebble.Options{FS: disk.CrashClone(vfs.CrashCloneCfg{})})
	check(t, open(t, after, w.ID(), sdk.OpenRecover), 99, 100)
}

// history is what writers were told, over crashes.
type history struct {
	mu      sync.Mutex // guards what follows
	acked   map[sdk.LedgerID]sdk.EntryID
	handed  map[sdk.LedgerID]sdk.EntryID
	keys    map[string]sdk.Versioned
	deleted []sdk.LedgerID
}

func (h *history) note(to map[sdk.LedgerID]sdk.EntryID, id sdk.LedgerID, last sdk.EntryID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before, noted := to[id]; !noted || last > before {
		to[id] = last
	}
}

// S-033, S-034, S-035, S-037, S-039: random writers, random power cuts, several
// times one after the other.
func TestS033S034S035S037S039RandomPowerCuts(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			h := &history{acked: map[sdk.LedgerID]sdk.EntryID{}, handed: map[sdk.LedgerID]sdk.EntryID{}, keys: map[string]sdk.Versioned{}}
			disk := vfs.NewCrashableMem()
			for range 3 {
				s := mustOpen(t, memDir, inMemory(disk))
				h.verify(t, s)
				disk = h.writeUntilTheCut(t, s, disk, random)
			}
			h.verify(t, mustOpen(t, memDir, inMemory(disk)))
		})
	}
}

// sizeOf is the size of an entry: mostly small, some large.
func sizeOf(id sdk.EntryID) int {
	if id%37 == 36 {
		return 40 << 10
	}
	return 50 + int(id%7)*100
}

// writeUntilTheCut writes from several goroutines, and cuts the power meanwhile.
func (h *history) writeUntilTheCut(t *testing.T, s *pebble.Store, disk *vfs.MemFS, random *rand.Rand) *vfs.MemFS {
	ctx := context.Background()
	var running sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		w := mustCreate(t, s)
		h.note(h.acked, w.ID(), sdk.NoEntry)
		h.note(h.handed, w.ID(), sdk.NoEntry)
		running.Go(func() { h.writeLedger(w, stop) })
	}
	running.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			key := fmt.Sprint("key ", i%5)
			version, err := s.Metadata().Put(ctx, key, []byte(fmt.Sprint(i)), sdk.AnyVersion)
			if err == nil {
				h.mu.Lock()
				h.keys[key] = sdk.Versioned{Version: version}
				h.mu.Unlock()
			}
		}
	})
	<-time.After(time.Duration(50+random.IntN(150)) * time.Millisecond)
	h.mu.Lock() // What is acknowledged from here on need not be in the clone.
	acked := map[sdk.LedgerID]sdk.EntryID{}
	for id, last := range h.acked {
		acked[id] = last
	}
	keys := map[string]sdk.Versioned{}
	for key, v := range h.keys {
		keys[key] = v
	}
	h.mu.Unlock()
	after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
	close(stop)
	running.Wait()
	h.acked, h.keys = acked, keys
	mustClose(t, s)
	return after
}

func (h *history) writeLedger(w sdk.LedgerWriter, stop <-chan struct{}) {
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	for first := sdk.EntryID(0); ; {
		select {
		case <-stop:
			return
		default:
		}
		var entries [][]byte
		for range 1 + first%5 {
			id := first + sdk.EntryID(len(entries))
			entries = append(entries, payload(w.ID(), id, sizeOf(id)))
		}
		h.note(h.handed, w.ID(), first+sdk.EntryID(len(entries))-1)
		inFlight.Add(1)
		told := make(chan struct{})
		w.Append(sdk.Batch{First: first, Entries: entries, Done: func(last sdk.EntryID, err error) {
			if err == nil {
				h.note(h.acked, w.ID(), last)
			}
			close(told)
			inFlight.Done()
		}})
		if first%3 == 0 {
			<-told
		}
		first += sdk.EntryID(len(entries))
	}
}

// verify recovers every ledger and reads it. From then on the ledger must stay
// as it was recovered.
func (h *history) verify(t *testing.T, s *pebble.Store) {
	t.Helper()
	highest := sdk.LedgerID(-1)
	for id, acked := range h.acked {
		highest = max(highest, id)
		r, err := s.Open(context.Background(), id, sdk.OpenRecover)
		if err != nil {
			t.Fatalf("ledger %d, acknowledged up to %d: %v", id, acked, err)
		}
		last := r.State().LastConfirmed
		if last < acked || last > h.handed[id] {
			t.Fatalf("ledger %d ends at %d; acknowledged up to %d, handed over up to %d", id, last, acked, h.handed[id])
		}
		total := int64(0)
		for first := sdk.EntryID(0); first <= last; first += 20 {
			until := min(first+19, last)
			got, err := read(r, first, until)
			if err != nil {
				t.Fatalf("ledger %d, entries %d to %d of %d: %v", id, first, until, last, err)
			}
			for i, entry := range got {
				total += int64(len(entry))
				if at := first + sdk.EntryID(i); string(entry) != string(payload(id, at, sizeOf(at))) {
					t.Fatalf("ledger %d entry %d is %.60q", id, at, entry)
				}
			}
		}
		if got := r.State().Bytes; got != total {
			t.Fatalf("ledger %d has %d bytes, its state says %d", id, total, got)
		}
		h.acked[id], h.handed[id] = last, last
		r.Close()
	}
	for _, id := range h.deleted {
		if _, err := s.Open(context.Background(), id, sdk.OpenRead); !errors.Is(err, sdk.ErrLedgerNotFound) {
			t.Fatalf("deleted ledger %d: %v", id, err)
		}
	}
	if _, there := h.acked[highest]; there {
		if err := s.Delete(context.Background(), highest); err != nil {
			t.Fatal(err)
		}
		delete(h.acked, highest)
		h.deleted = append(h.deleted, highest)
	}
	w := mustCreate(t, s)
	if w.ID() <= highest {
		t.Fatalf("ledger id %d was given before", w.ID())
	}
	h.acked[w.ID()], h.handed[w.ID()] = sdk.NoEntry, sdk.NoEntry
	for key, want := range h.keys {
		got, err := s.Metadata().Get(context.Background(), key)
		if err != nil || got.Version < want.Version {
			t.Fatalf("%q has version %d, %v; acknowledged was %d", key, got.Version, err, want.Version)
		}
	}
}
