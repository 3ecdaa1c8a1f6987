package pebble

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
)

// encoded returns the block of the entries that ends with last.
func encoded(id sdk.LedgerID, last sdk.EntryID, total int64, entries ...[]byte) (key, value []byte) {
	_, _, size := cutBlock(entries)
	key, value = blockKey(id, last), make([]byte, size)
	putBlock(value, key, entries, total)
	return key, value
}

func TestBlockHoldsItsEntries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var entries [][]byte
		for range 1 + random.IntN(40) {
			entry := make([]byte, random.IntN(300)*random.IntN(2))
			for i := range entry {
				entry[i] = byte(random.Uint32())
			}
			entries = append(entries, entry)
		}
		last := sdk.EntryID(len(entries) - 1 + random.IntN(1000))
		key, value := encoded(7, last, 12345, entries...)
		b, err := parseBlock(key, value)
		if err != nil {
			t.Fatal(err)
		}
		if b.last != last || b.total != 12345 || int(last-b.first)+1 != len(entries) {
			t.Fatalf("block %+v of %d entries up to %d", b, len(entries), last)
		}
		from := random.IntN(len(entries))
		to := from + random.IntN(len(entries)-from)
		part := b.collect(b.first+sdk.EntryID(from), b.first+sdk.EntryID(to), math.MaxInt, true)
		if len(part.payloads) != to-from+1 || part.full {
			t.Fatalf("%d entries, full %v, want %d", len(part.payloads), part.full, to-from+1)
		}
		for i, got := range part.payloads {
			if !bytes.Equal(got, entries[from+i]) {
				t.Fatalf("entry %d differs", from+i)
			}
		}
	}
}

func TestBlockIsCutByBytes(t *testing.T) {
	key, value := encoded(1, 3, 0, []byte("aaaa"), []byte("bb"), nil, []byte("c"))
	b, err := parseBlock(key, value)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit      int
		atLeastOne bool
		want       int
		full       bool
	}{
		{0, true, 1, true}, {3, true, 1, true}, {3, false, 0, true}, {4, false, 1, true},
		{6, false, 3, true}, {7, false, 4, false}, {100, true, 4, false},
	} {
		got := b.collect(0, 3, c.limit, c.atLeastOne)
		if len(got.payloads) != c.want || got.full != c.full {
			t.Errorf("limit %d, at least one %v: %d entries, full %v; want %d, %v", c.limit, c.atLeastOne, len(got.payloads), got.full, c.want, c.full)
		}
	}
}

func TestRunIsCutIntoBlocks(t *testing.T) {
	large := make([]byte, maxBlockBytes+1)
	half := make([]byte, maxBlockBytes/2)
	for _, c := range []struct {
		name    string
		entries [][]byte
		want    int
	}{
		{"one", [][]byte{{}}, 1},
		{"a larger one alone", [][]byte{large, {}}, 1},
		{"a larger one behind", [][]byte{{}, large}, 1},
		{"two halves", [][]byte{half, half, {1}}, 2},
	} {
		if count, _, _ := cutBlock(c.entries); count != c.want {
			t.Errorf("%s: %d entries, want %d", c.name, count, c.want)
		}
	}
}

// S-042: a flipped bit anywhere in a block, or a block under another key, is
// noticed.
func TestS042AFlippedBitOfABlockIsNoticed(t *testing.T) {
	key, value := encoded(7, 2, 9, []byte("one"), []byte("two"), []byte("three"))
	for at := range value {
		for bit := range 8 {
			flipped := bytes.Clone(value)
			flipped[at] ^= 1 << bit
			if _, err := parseBlock(key, flipped); !errors.Is(err, errBlock) {
				t.Fatalf("byte %d bit %d: %v", at, bit, err)
			}
		}
	}
	for _, other := range [][]byte{blockKey(8, 2), blockKey(7, 3), key[:5]} {
		if _, err := parseBlock(other, value); !errors.Is(err, errBlock) {
			t.Fatalf("under key %x: %v", other, err)
		}
	}
	record := record{closed: true, last: 3, bytes: 4, labels: map[string]string{"topic": "t"}}
	recordKey := ledgerKey(7)
	value = record.encode(recordKey)
	for at := range value {
		flipped := bytes.Clone(value)
		flipped[at] ^= 0x20
		if _, err := parseRecord(recordKey, flipped); !errors.Is(err, errRecord) {
			t.Fatalf("record byte %d: %v", at, err)
		}
	}
}

// FuzzParseBlock gives the parser blocks whose checksum is right and whose rest
// is anything.
func FuzzParseBlock(f *testing.F) {
	_, value := encoded(7, 2, 9, []byte("one"), []byte("two"), []byte("three"))
	f.Add(int64(2), value)
	_, value = encoded(7, 0, 0, nil)
	f.Add(int64(0), value)
	f.Fuzz(func(t *testing.T, last int64, value []byte) {
		key := blockKey(7, sdk.EntryID(last))
		if len(value) >= blockHeaderBytes {
			value = bytes.Clone(value)
			sum := blockChecksum(key, value)
			value[0], value[1], value[2], value[3] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		}
		b, err := parseBlock(key, value)
		if err != nil {
			return
		}
		part := b.collect(b.first, b.last, math.MaxInt, true)
		if len(part.payloads) != int(b.last-b.first)+1 || part.bytes != len(b.payloads) {
			t.Errorf("%d entries with %d bytes of block %+v", len(part.payloads), part.bytes, b)
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	key := ledgerKey(7)
	f.Add(record{last: sdk.NoEntry}.encode(key))
	f.Add(record{closed: true, last: 5, bytes: 6, labels: map[string]string{"a": "b", "": ""}}.encode(key))
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) >= recordHeaderBytes {
			value = bytes.Clone(value)
			sum := recordChecksum(key, value)
			value[0], value[1], value[2], value[3] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		}
		r, err := parseRecord(key, value)
		if err != nil {
			return
		}
		again, err := parseRecord(key, r.encode(key))
		if err != nil || again.last != r.last || again.bytes != r.bytes || again.closed != r.closed || len(again.labels) != len(r.labels) {
			t.Errorf("%+v, encoded and parsed %+v, %v", r, again, err)
		}
	})
}

func TestUpperBound(t *testing.T) {
	for prefix, want := range map[string]string{"m": "n", "ma": "mb", "m\xff": "n", "ma\xff\xff": "mb"} {
		if got := upperBound([]byte(prefix)); string(got) != want {
			t.Errorf("upperBound(%q) is %q, want %q", prefix, got, want)
		}
	}
}
