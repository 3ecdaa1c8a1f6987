package pebble_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

// small are options that make Pebble flush and rotate its log early.
func small() pebble.Options { return pebble.Options{MemTableBytes: 256 << 10, ReserveBytes: 2 << 20} }

func mustOpen(t *testing.T, dir string, o pebble.Options) *pebble.Store {
	t.Helper()
	s, err := pebble.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func mustClose(t *testing.T, s *pebble.Store) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func mustCreate(t *testing.T, s *pebble.Store) sdk.LedgerWriter {
	t.Helper()
	w, err := s.Create(context.Background(), sdk.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// add appends one entry and waits for its end.
func add(w sdk.LedgerWriter, id sdk.EntryID, payload []byte) error {
	outcome := make(chan error, 1)
	w.Append(sdk.Batch{First: id, Entries: [][]byte{payload}, Done: func(_ sdk.EntryID, err error) { outcome <- err }})
	return <-outcome
}

// payload returns the bytes of one entry: different for each, size bytes long.
func payload(ledger sdk.LedgerID, id sdk.EntryID, size int) []byte {
	mark := fmt.Appendf(nil, "ledger %d entry %d ", ledger, id)
	return bytes.Repeat(mark, size/len(mark)+1)[:max(size, len(mark))]
}

// fill appends entries of size bytes from first to last, one sync each.
func fill(t *testing.T, w sdk.LedgerWriter, first, last sdk.EntryID, size int) {
	t.Helper()
	for id := first; id <= last; id++ {
		if err := add(w, id, payload(w.ID(), id, size)); err != nil {
			t.Fatalf("entry %d: %v", id, err)
		}
	}
}

func read(r sdk.LedgerReader, first, last sdk.EntryID) (payloads [][]byte, err error) {
	r.Read(context.Background(), sdk.Range{First: first, Last: last}, func(p [][]byte, e error) { payloads, err = p, e })
	return payloads, err
}

// check reads the entries one by one and compares; it returns how many are
// reported as damaged.
func check(t *testing.T, r sdk.LedgerReader, last sdk.EntryID, size int) (damaged int) {
	t.Helper()
	for id := range last + 1 {
		got, err := read(r, id, id)
		switch {
		case errors.Is(err, sdk.ErrCorrupt):
			damaged++
		case err != nil:
			t.Fatalf("ledger %d entry %d: %v", r.ID(), id, err)
		case !bytes.Equal(got[0], payload(r.ID(), id, size)):
			t.Fatalf("ledger %d entry %d is %.60q", r.ID(), id, got[0])
		}
	}
	return damaged
}

func open(t *testing.T, s *pebble.Store, id sdk.LedgerID, mode sdk.OpenMode) sdk.LedgerReader {
	t.Helper()
	r, err := s.Open(context.Background(), id, mode)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// killed returns a copy of a store's directory as a kill of the process would
// leave it: all that was written, nothing that was not.
func killed(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "LOCK" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(copied, entry.Name()), content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// files returns the files of dir whose names contain part, by name.
func files(t *testing.T, dir, part string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		if strings.Contains(entry.Name(), part) {
			found = append(found, filepath.Join(dir, entry.Name()))
		}
	}
	return found
}

// alter changes a file.
func alter(t *testing.T, file string, change func(content []byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, change(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
