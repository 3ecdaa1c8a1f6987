package pebble_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

// written makes a store with one closed and one open ledger whose entries lie
// partly in table files and partly in the log, and returns it as a kill leaves
// it. Entry number last of both is the last one.
func written(t *testing.T, count int) (dir string, closed, open sdk.LedgerID, last sdk.EntryID) {
	t.Helper()
	live := t.TempDir()
	s := mustOpen(t, live, small())
	a, b := mustCreate(t, s), mustCreate(t, s)
	last = sdk.EntryID(count - 1)
	fill(t, a, 0, last, 1000)
	if _, err := a.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	fill(t, b, 0, last, 1000)
	dir = killed(t, live)
	mustClose(t, s)
	return dir, a.ID(), b.ID(), last
}

// survey opens a damaged copy and holds it to what must be: either it refuses
// with ErrCorrupt, or every entry is right or reported as damaged, a recovered
// ledger is not shorter than may, and nothing panics.
func survey(t *testing.T, dir string, closed, unsealed sdk.LedgerID, last, may sdk.EntryID) (refused bool, damaged int) {
	t.Helper()
	s, err := pebble.Open(dir, small())
	if err != nil {
		if !errors.Is(err, sdk.ErrCorrupt) {
			t.Fatalf("open: %v", err)
		}
		return true, 0
	}
	defer mustClose(t, s)
	for id, mode := range map[sdk.LedgerID]sdk.OpenMode{closed: sdk.OpenRead, unsealed: sdk.OpenRecover} {
		r, err := s.Open(context.Background(), id, mode)
		if errors.Is(err, sdk.ErrCorrupt) {
			damaged++
			continue
		}
		if err != nil {
			t.Fatalf("ledger %d: %v", id, err)
		}
		end := r.State().LastConfirmed
		if end > last || end < may || id == closed && end != last {
			t.Fatalf("ledger %d ends at %d, it had %d", id, end, last)
		}
		damaged += check(t, r, end, 1000)
		r.Close()
	}
	return false, damaged
}

func flip(at int) func([]byte) []byte {
	return func(content []byte) []byte {
		content[at] ^= 0x10
		return content
	}
}

// S-042: one flipped bit anywhere is reported, or harmless; never served, never
// the end of a ledger. The last sync of the log alone cannot be told from a
// torn tail: nothing behind it says that it was whole.
func TestS042OneFlippedBit(t *testing.T) {
	t.Parallel()
	dir, closed, open, last := written(t, 250)
	var candidates []string
	for _, part := range []string{".sst", ".log", "MANIFEST"} {
		candidates = append(candidates, files(t, dir, part)...)
	}
	reported := 0
	for _, file := range candidates {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		for step := range min(int(info.Size()), 6) {
			at := int(info.Size()) * (2*step + 1) / 12
			damagedDir := killed(t, dir)
			alter(t, filepath.Join(damagedDir, filepath.Base(file)), flip(at))
			refused, damaged := survey(t, damagedDir, closed, open, last, last-1)
			if refused || damaged > 0 {
				reported++
			}
		}
	}
	if reported == 0 {
		t.Error("no flip was reported: the test flips nothing of interest")
	}
}

// S-032: damage of the last block is not taken for the end of the ledger.
func TestS032RecoveryDoesNotCloseADamagedLedgerEarly(t *testing.T) {
	t.Parallel()
	live := t.TempDir()
	s := mustOpen(t, live, small())
	w := mustCreate(t, s)
	fill(t, w, 0, 9, 1000)
	mustClose(t, s)
	tables := files(t, live, ".sst")
	if len(tables) == 0 {
		t.Fatal("nothing was flushed")
	}
	for _, file := range tables {
		alter(t, file, func(content []byte) []byte {
			mark := string(payload(w.ID(), 9, 1000))
			at := strings.Index(string(content), mark)
			if at < 0 {
				return content
			}
			return flip(at)(content)
		})
	}
	s = mustOpen(t, live, small())
	for range 2 {
		if _, err := s.Open(context.Background(), w.ID(), sdk.OpenRecover); !errors.Is(err, sdk.ErrCorrupt) {
			t.Fatalf("recovery: %v", err)
		}
	}
}

// S-043: a missing table file is told at the start, by name.
func TestS043AMissingTableFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := mustOpen(t, dir, small())
	fill(t, mustCreate(t, s), 0, 249, 1000)
	mustClose(t, s) // It writes the tables in memory out.
	tables := files(t, dir, ".sst")
	if len(tables) == 0 {
		t.Fatal("no table file")
	}
	for _, file := range tables {
		copied := killed(t, dir)
		if err := os.Remove(filepath.Join(copied, filepath.Base(file))); err != nil {
			t.Fatal(err)
		}
		_, err := pebble.Open(copied, small())
		if !errors.Is(err, sdk.ErrCorrupt) || !strings.Contains(err.Error(), strings.TrimSuffix(filepath.Base(file), ".sst")) {
			t.Errorf("without %s: %v", filepath.Base(file), err)
		}
	}
}

// S-044: damage in the first of several logs is not passed over.
func TestS044DamageInTheFirstOfSeveralLogs(t *testing.T) {
	t.Parallel()
	live := t.TempDir()
	var f faults
	o := small()
	o.FS = f.over(vfs.Default)
	s := mustOpen(t, live, o)
	f.on(errDisk, ".sst", errorfs.OpCreate) // No flush, so the logs stay.
	fill(t, mustCreate(t, s), 0, 59, 10000)
	dir := killed(t, live)
	f.off()
	mustClose(t, s)
	logs := files(t, dir, ".log")
	if len(logs) < 2 {
		t.Fatalf("%d logs are too few", len(logs))
	}
	alter(t, logs[0], flip(100000))
	if _, err := pebble.Open(dir, small()); !errors.Is(err, sdk.ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
}

// S-036, S-037, S-041, S-048: a torn tail is cut, whatever it looks like, and
// the second start after it works too.
func TestS036S037S041S048ATornTailIsCut(t *testing.T) {
	t.Parallel()
	huge := binary.LittleEndian.AppendUint32(nil, 0xffffffff)
	for name, tear := range map[string]func([]byte, int) []byte{
		"cut by 7":               func(c []byte, end int) []byte { return c[:end-7] },
		"cut in half":            func(c []byte, end int) []byte { return c[:end-500] },
		"zero to the end":        func(c []byte, end int) []byte { clear(c[end-500:]); return c },
		"zero from the page on":  func(c []byte, end int) []byte { clear(c[end/4096*4096:]); return c },
		"garbage behind the end": func(c []byte, end int) []byte { return append(c, strings.Repeat("garbage", 100)...) },
		"huge length behind it":  func(c []byte, end int) []byte { return append(c, strings.Repeat(string(huge), 10)...) },
	} {
		t.Run(name, func(t *testing.T) {
			live := t.TempDir()
			s := mustOpen(t, live, pebble.Options{ReserveBytes: 1 << 20})
			w := mustCreate(t, s)
			fill(t, w, 0, 9, 10000)
			dir := killed(t, live)
			mustClose(t, s)
			logs := files(t, dir, ".log")
			alter(t, logs[len(logs)-1], func(content []byte) []byte { return tear(content, len(content)) })
			for start := range 3 {
				s := mustOpen(t, dir, small())
				r := open(t, s, w.ID(), sdk.OpenRecover)
				if got := r.State().LastConfirmed; got < 8 {
					t.Fatalf("start %d: ends at %d", start, got)
				}
				if damaged := check(t, r, r.State().LastConfirmed, 10000); damaged > 0 {
					t.Fatalf("start %d: %d damaged entries", start, damaged)
				}
				fill(t, mustCreate(t, s), 0, 2, 100)
				mustClose(t, s)
			}
		})
	}
}

// S-048: a huge length in the middle is damage, and allocates nothing.
func TestS048AHugeLengthInTheMiddle(t *testing.T) {
	t.Parallel()
	dir, closed, open, last := written(t, 100)
	logs := files(t, dir, ".log")
	for at := 1000; at < 60000; at += 7777 {
		copied := killed(t, dir)
		alter(t, filepath.Join(copied, filepath.Base(logs[len(logs)-1])), func(content []byte) []byte {
			if at+8 < len(content) {
				copy(content[at:], "\xff\xff\xff\xff\xff\xff\xff\x7f")
			}
			return content
		})
		survey(t, copied, closed, open, last, last-1)
	}
}

// S-045, S-046: damaged or missing files of the database itself are an error
// with what to do, or do no harm. Never a panic, never an empty store.
func TestS045S046DamagedFilesOfTheDatabase(t *testing.T) {
	t.Parallel()
	dir, closed, open, last := written(t, 250)
	for _, file := range files(t, dir, "") {
		name := filepath.Base(file)
		if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".log") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for page := 0; page == 0 || page < len(content); page += 4096 {
			t.Run(fmt.Sprintf("%s page %d zero", name, page/4096), func(t *testing.T) {
				copied := killed(t, dir)
				alter(t, filepath.Join(copied, name), func(c []byte) []byte {
					clear(c[page:min(page+4096, len(c))])
					return c
				})
				survey(t, copied, closed, open, last, last)
			})
		}
		if name == "TIDEMARK" {
			continue // Without it the directory is a foreign one: ErrInvalid.
		}
		t.Run(name+" missing", func(t *testing.T) {
			copied := killed(t, dir)
			if err := os.Remove(filepath.Join(copied, name)); err != nil {
				t.Fatal(err)
			}
			survey(t, copied, closed, open, last, last)
		})
	}
}
