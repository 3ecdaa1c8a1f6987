package pebble_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

const volumeBytes = 10 << 20

// fillUp adds until the store refuses, and returns the last acknowledged entry
// of each ledger. The refusal must say that there is no space.
func fillUp(t *testing.T, s *pebble.Store) map[sdk.LedgerID]sdk.EntryID {
	t.Helper()
	acked := map[sdk.LedgerID]sdk.EntryID{}
	for {
		w, err := s.Create(context.Background(), sdk.CreateOptions{})
		if err != nil {
			wantFull(t, err)
			return acked
		}
		for id := range sdk.EntryID(50) {
			if err := add(w, id, payload(w.ID(), id, 5000)); err != nil {
				wantFull(t, err)
				return acked
			}
			acked[w.ID()] = id
		}
		w.Close()
	}
}

func wantFull(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, sdk.ErrFull) && !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("want no space left: %v", err)
	}
}

func checkAll(t *testing.T, s *pebble.Store, acked map[sdk.LedgerID]sdk.EntryID) {
	t.Helper()
	for id, last := range acked {
		r := open(t, s, id, sdk.OpenRead)
		got, err := read(r, 0, last)
		if err != nil {
			t.Fatalf("ledger %d: %v", id, err)
		}
		for i, entry := range got {
			if !bytes.Equal(entry, payload(id, sdk.EntryID(i), 5000)) {
				t.Fatalf("ledger %d entry %d is %.60q", id, i, entry)
			}
		}
		r.Close()
	}
}

// S-050, S-052: on a full disk adds are refused as full, the process lives,
// what was acknowledged stays, metadata and deletions go on, and adds go on
// once there is room.
func TestS050S052AFullDiskRefusesAddsAndRecovers(t *testing.T) {
	t.Parallel()
	q := newQuota(volumeBytes)
	s := mustOpen(t, memDir, inMemory(q))
	acked := fillUp(t, s)
	for range 2 {
		for s.Health(context.Background()) == nil {
			q.fill(100) // again and again, because files that go make room
			maps.Copy(acked, fillUp(t, s))
		}
		stillWorks(t, s)
		checkAll(t, s, acked)
		q.clear()
		q.setLimit(q.limit + volumeBytes/2)
		eventually(t, s)
		maps.Copy(acked, fillUp(t, s))
	}
	mustClose(t, s)
	s = mustOpen(t, memDir, inMemory(q))
	checkAll(t, s, acked)
}

// stillWorks is what a full disk must not stop.
func stillWorks(t *testing.T, s *pebble.Store) {
	t.Helper()
	ctx := context.Background()
	for range 10 {
		if _, err := s.Metadata().Put(ctx, "cursor", []byte("position"), sdk.AnyVersion); err != nil {
			t.Fatalf("Put on a full disk: %v", err)
		}
	}
}

// S-050: deleting ledgers gives room back, and adds go on by themselves.
func TestS050DeletingMakesRoom(t *testing.T) {
	t.Parallel()
	q := newQuota(volumeBytes)
	s := mustOpen(t, memDir, inMemory(q))
	acked := fillUp(t, s)
	for id := range acked {
		if err := s.Delete(context.Background(), id); err != nil {
			t.Fatalf("Delete on a full disk: %v", err)
		}
	}
	eventually(t, s)
}

// S-049, S-051: a store starts on a full disk, also after a write that was cut
// short; without any room it can be read, and it goes on once there is some.
func TestS049S051StartOnAFullDisk(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"with its reserve": false, "without its reserve": true} {
		t.Run(name, func(t *testing.T) {
			q := newQuota(volumeBytes)
			s := mustOpen(t, memDir, inMemory(q))
			acked := fillUp(t, s)
			mustClose(t, s)
			for range 2 {
				if lost {
					_ = q.Remove(filepath.Join(memDir, "RESERVE"))
				}
				q.fill(0)
				s = mustOpen(t, memDir, inMemory(q))
				checkAll(t, s, acked)
				wantFull(t, s.Health(context.Background()))
				_, err := s.Create(context.Background(), sdk.CreateOptions{})
				wantFull(t, err)
				mustClose(t, s)
			}
			s = mustOpen(t, memDir, inMemory(q))
			q.clear()
			q.setLimit(q.limit + volumeBytes/2)
			eventually(t, s)
			checkAll(t, s, acked)
		})
	}
}

func TestANewStoreOnAFullDiskIsRefused(t *testing.T) {
	if _, err := pebble.Open(memDir, inMemory(newQuota(100))); !errors.Is(err, sdk.ErrFull) {
		t.Errorf("open: %v", err)
	}
}

// S-050, S-051, S-052 on a real small volume, which needs the right to mount
// one.
func TestS050S051S052ARealSmallVolume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("cannot mount a small volume: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	o := small()
	store, ballast := filepath.Join(dir, "store"), filepath.Join(dir, "ballast")
	random := rand.New(rand.NewPCG(1, 1))
	acked := map[sdk.LedgerID]sdk.EntryID{}
	for range 2 {
		if err := os.WriteFile(ballast, make([]byte, 5<<20+random.IntN(2<<20)), 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, store, o)
		for id, last := range fillUp(t, s) {
			acked[id] = last
		}
		// All the room there is, for another file; again and again, because
		// files that go make room.
		other, err := os.Create(filepath.Join(dir, "other"))
		if err != nil {
			t.Fatal(err)
		}
		for s.Health(context.Background()) == nil {
			for err = nil; err == nil; _, err = other.Write(make([]byte, 64<<10)) {
			}
			maps.Copy(acked, fillUp(t, s))
		}
		other.Close()
		stillWorks(t, s)
		checkAll(t, s, acked)
		mustClose(t, s)
		s = mustOpen(t, store, o)
		checkAll(t, s, acked)
		os.Remove(other.Name())
		os.Remove(ballast)
		eventually(t, s)
		for id := range acked {
			if err := s.Delete(context.Background(), id); err != nil {
				t.Fatal(err)
			}
		}
		clear(acked)
		eventually(t, s)
		mustClose(t, s)
	}
}
