package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

// faults fails operations of a file system on demand.
type faults struct {
	fails atomic.Pointer[func(errorfs.Op) error]
	hits  atomic.Int64
}

func (f *faults) over(fs vfs.FS) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fails := f.fails.Load(); fails != nil {
			if err := (*fails)(op); err != nil {
				f.hits.Add(1)
				return err
			}
		}
		return nil
	}))
}

// on fails every operation of the kinds on files whose names contain part.
func (f *faults) on(err error, part string, kinds ...errorfs.OpKind) {
	fails := func(op errorfs.Op) error {
		for _, kind := range kinds {
			if op.Kind == kind && strings.Contains(op.Path, part) {
				return err
			}
		}
		return nil
	}
	f.fails.Store(&fails)
}

func (f *faults) off() { f.fails.Store(nil) }

var errDisk = errors.New("input/output error")

// eventually waits until the store takes an add to a new ledger.
func eventually(t *testing.T, s *pebble.Store) sdk.LedgerWriter {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 4000 {
		w, err := s.Create(context.Background(), sdk.CreateOptions{})
		if err == nil {
			if err = add(w, 0, payload(w.ID(), 0, 100)); err == nil {
				return w
			}
		}
		if !errors.Is(err, sdk.ErrUnavailable) && !errors.Is(err, sdk.ErrFull) && !errors.Is(err, sdk.ErrUnknownOutcome) {
			t.Fatalf("while the store recovers: %v", err)
		}
		<-tick.C
	}
	t.Fatal("the store does not recover")
	return nil
}

// S-005: one failed write or sync of the log is an unknown outcome, the writer
// is told so for good, and the store goes on by itself.
func TestS005OneFailedWriteOfTheLog(t *testing.T) {
	for name, kind := range map[string]errorfs.OpKind{"write": errorfs.OpFileWrite, "sync": errorfs.OpFileSyncData} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMem()
			var f faults
			s := mustOpen(t, memDir, inMemory(f.over(disk)))
			w, other := mustCreate(t, s), mustCreate(t, s)
			fill(t, w, 0, 9, 100)
			fill(t, other, 0, 9, 100)
			f.on(errDisk, ".log", kind, errorfs.OpFileSync)
			if err := add(w, 10, payload(w.ID(), 10, 100)); !errors.Is(err, sdk.ErrUnknownOutcome) {
				t.Fatalf("the add whose log failed: %v", err)
			}
			if f.hits.Load() == 0 {
				t.Fatal("no fault was injected")
			}
			if _, err := read(w, 10, 10); !errors.Is(err, sdk.ErrEntryNotFound) {
				t.Errorf("the failed entry can be read: %v", err)
			}
			if err := add(w, 11, nil); err == nil || errors.Is(err, sdk.ErrUnknownOutcome) {
				t.Errorf("the add after it: %v", err)
			}
			f.off()
			next := eventually(t, s)
			fill(t, other, 10, 19, 100) // It had no part in the failure.
			check(t, w, 9, 100)
			r := open(t, s, w.ID(), sdk.OpenRecover)
			if last := r.State().LastConfirmed; last != 9 && last != 10 {
				t.Errorf("recovered at %d, want 9 or 10", last)
			}
			check(t, r, r.State().LastConfirmed, 100)
			mustClose(t, s)
			s = mustOpen(t, memDir, inMemory(disk))
			check(t, open(t, s, w.ID(), sdk.OpenRead), r.State().LastConfirmed, 100)
			check(t, open(t, s, other.ID(), sdk.OpenRecover), 19, 100)
			check(t, open(t, s, next.ID(), sdk.OpenRecover), 0, 100)
		})
	}
}

// S-005, S-052: whatever operation fails, at whatever moment, the process
// lives, nothing acknowledged is lost and the store goes on.
func TestS005AnyFailedOperation(t *testing.T) {
	kinds := map[string]errorfs.OpKind{
		"create": errorfs.OpCreate, "write": errorfs.OpFileWrite, "sync": errorfs.OpFileSync, "syncdata": errorfs.OpFileSyncData,
		"syncto": errorfs.OpFileSyncTo, "rename": errorfs.OpRename, "reuse": errorfs.OpReuseForWrite, "close": errorfs.OpFileClose, "stat": errorfs.OpFileStat,
	}
	for name, kind := range kinds {
		for _, cause := range []error{errDisk, syscall.ENOSPC} {
			t.Run(fmt.Sprintf("%s/%v", name, cause), func(t *testing.T) {
				t.Parallel()
				failAnywhere(t, kind, cause)
			})
		}
	}
}

func failAnywhere(t *testing.T, kind errorfs.OpKind, cause error) {
	disk := vfs.NewMem()
	var f faults
	s := mustOpen(t, memDir, inMemory(f.over(disk)))
	acked := map[sdk.LedgerID]sdk.EntryID{}
	const size = 20 << 10 // The log rotates every ten entries.
	for every := int64(1); every < 40; every += 12 {
		var countdown atomic.Int64
		countdown.Store(every)
		fails := func(op errorfs.Op) error {
			if op.Kind == kind && !strings.Contains(op.Path, "OWNER") && countdown.Add(-1) == 0 {
				return cause
			}
			return nil
		}
		f.fails.Store(&fails)
		w, err := s.Create(context.Background(), sdk.CreateOptions{})
		for id := sdk.EntryID(0); err == nil && id < 60; id++ {
			if err = add(w, id, payload(w.ID(), id, size)); err == nil {
				acked[w.ID()] = id
			}
		}
		f.off()
		acked[eventuallyID(t, s)] = 0
	}
	mustClose(t, s)
	s = mustOpen(t, memDir, inMemory(disk))
	for id, last := range acked {
		r := open(t, s, id, sdk.OpenRecover)
		if got := r.State().LastConfirmed; got < last {
			t.Fatalf("ledger %d ends at %d, acknowledged was %d", id, got, last)
		}
		if last > 0 {
			check(t, r, last, size)
		}
	}
}

func eventuallyID(t *testing.T, s *pebble.Store) sdk.LedgerID {
	w := eventually(t, s)
	defer w.Close()
	return w.ID()
}

// A disk that fails for long is told to everybody and tried less and less
// often; reads go on from what is open.
func TestAFailingDiskIsToldAndTriedAgain(t *testing.T) {
	disk := vfs.NewMem()
	var f faults
	s := mustOpen(t, memDir, inMemory(f.over(disk)))
	w := mustCreate(t, s)
	fill(t, w, 0, 9, 100)
	f.on(errDisk, ".log", errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpCreate, errorfs.OpReuseForWrite)
	if err := add(w, 10, nil); !errors.Is(err, sdk.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	if _, err := s.Create(context.Background(), sdk.CreateOptions{}); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("Create: %v", err)
	}
	if _, err := s.Metadata().Put(context.Background(), "key", nil, sdk.AnyVersion); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("Put: %v", err)
	}
	if err := s.Health(context.Background()); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("Health: %v", err)
	}
	f.off()
	eventually(t, s)
	if err := s.Health(context.Background()); err != nil {
		t.Errorf("Health afterwards: %v", err)
	}
	check(t, w, 9, 100)
}

// Close ends also when the disk fails.
func TestCloseWhileTheDiskFails(t *testing.T) {
	var f faults
	s := mustOpen(t, memDir, inMemory(f.over(vfs.NewMem())))
	w := mustCreate(t, s)
	f.on(errDisk, ".log", errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpCreate)
	if err := add(w, 0, nil); !errors.Is(err, sdk.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	mustClose(t, s)
	f.off()
}
