package pebble

import (
	"bytes"
	"fmt"
	"testing"

	wire "github.com/cockroachdb/pebble/v2/record"
)

// manifestOf writes records as Pebble does.
func manifestOf(t testing.TB, records ...[]byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w := wire.NewWriter(&file)
	for _, each := range records {
		if _, err := w.WriteRecord(each); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// logOf writes records as Pebble does, without the mark of the end.
func logOf(t testing.TB, offsets bool, records ...[]byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w := wire.NewLogWriter(&file, 7, wire.LogWriterConfig{WriteWALSyncOffsets: func() bool { return offsets }})
	for _, each := range records {
		if _, err := w.WriteRecord(each); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func records(count, size int) [][]byte {
	var all [][]byte
	for i := range count {
		all = append(all, bytes.Repeat(fmt.Appendf(nil, "record %d ", i), size/9+1))
	}
	return all
}

func TestManifestDamage(t *testing.T) {
	for _, size := range []int{30, 300, 20000, 70000} {
		whole := manifestOf(t, records(5, size)...)
		last := len(manifestOf(t, records(4, size)...))
		if at, damaged := manifestDamage(whole); damaged {
			t.Fatalf("size %d: a whole file is damaged at %d", size, at)
		}
		for at := 0; at < len(whole); at += 1 + size/50 {
			flipped := bytes.Clone(whole)
			flipped[at] ^= 4
			_, damaged := manifestDamage(flipped)
			// The last record's length may then reach beyond the file, as if it
			// had been cut off.
			inLastHeader := at >= last && at < last+chunkHeader
			if !damaged && !inLastHeader && !bytes.Equal(flipped, whole) && whole[at] != 0 {
				t.Errorf("size %d: a flip at %d of %d goes unnoticed", size, at, len(whole))
			}
		}
		for end := last; end < len(whole); end += 1 + size/50 {
			if at, damaged := manifestDamage(whole[:end]); damaged {
				t.Errorf("size %d: cut off at %d is damaged at %d", size, end, at)
			}
		}
		for sector := (last/sectorBytes + 1) * sectorBytes; sector < len(whole); sector += sectorBytes {
			if zeroed := append(bytes.Clone(whole[:sector]), make([]byte, len(whole)-sector)...); size < 1000 {
				if at, damaged := manifestDamage(zeroed); damaged {
					t.Errorf("size %d: zero from %d on is damaged at %d", size, sector, at)
				}
			}
		}
	}
}

func TestLogDamage(t *testing.T) {
	for _, offsets := range []bool{false, true} {
		for _, size := range []int{30, 3000, 70000} {
			whole := logOf(t, offsets, records(6, size)...)
			last := len(logOf(t, offsets, records(5, size)...)) - chunkHeaders[1]
			if at, damaged := logDamage(whole, 7); damaged {
				t.Fatalf("size %d: a whole log is damaged at %d", size, at)
			}
			if _, damaged := logDamage(whole, 8); damaged {
				t.Fatalf("size %d: a log that is used again is damaged", size)
			}
			for at := 0; at < len(whole)-chunkHeaders[1]; at += 1 + size/40 {
				flipped := bytes.Clone(whole)
				flipped[at] ^= 4
				if _, damaged := logDamage(flipped, 7); damaged != (at < last) && whole[at] != 0 {
					t.Errorf("size %d: a flip at %d of %d, the last record is at %d: damaged is %v", size, at, len(whole), last, damaged)
				}
			}
		}
	}
}

func TestLogDamageOfRecordsAcknowledgedBeforeTheirSync(t *testing.T) {
	lazy := append(make([]byte, batchHeader), append([]byte{logDataKind, byte(len(lazyMark))}, lazyMark...)...)
	whole := logOf(t, true, lazy, lazy, lazy)
	whole[30] ^= 4
	if _, damaged := logDamage(whole, 7); damaged {
		t.Error("what was not synced need not be there")
	}
}

func FuzzChunks(f *testing.F) {
	f.Add(manifestOf(f, records(3, 100)...))
	f.Add(logOf(f, true, records(3, 100)...))
	f.Add(logOf(f, false, records(2, 40000)...))
	f.Fuzz(func(t *testing.T, content []byte) {
		if at, _ := manifestDamage(content); at < 0 || at > len(content)+chunkBlock {
			t.Errorf("at %d", at)
		}
		if at, _ := logDamage(content, 7); at < 0 || at > len(content)+chunkBlock {
			t.Errorf("at %d", at)
		}
	})
}
