package managedledger

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

func sampleRecord() record {
	return record{
		ledgers: []ledgerSpan{
			{id: 3, entries: 5, bytes: 70, closedAt: time.Unix(0, 1_700_000_000_000_000_001)},
			{id: 9},
		},
		lac: at(3, 4), trimmed: at(1, 8), terminated: true,
		properties: map[string]string{"retention-size": "1GiB", "": ""},
		owner:      "somebody", removed: []sdk.LedgerID{0, 1}, deleting: true,
		created: time.Unix(0, 1_600_000_000_000_000_000),
	}
}

func TestRecordThereAndBack(t *testing.T) {
	empty := record{lac: notTrimmed, trimmed: notTrimmed, created: time.Unix(0, 1)}
	for _, want := range []record{sampleRecord(), empty} {
		value, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeRecord(value)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("decoded %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestRecordThatMakesNoSense(t *testing.T) {
	for name, spoil := range map[string]func(*record){
		"ledgers out of order":       func(r *record) { r.ledgers[1].id = 3 },
		"negative number of entries": func(r *record) { r.ledgers[0].entries = -1 },
		"open in the middle":         func(r *record) { r.ledgers[0].closedAt = time.Time{} },
		"open and not empty":         func(r *record) { r.ledgers[1].entries = 2 },
		"trimmed beyond the LAC":     func(r *record) { r.trimmed = at(3, 5) },
		"impossible LAC":             func(r *record) { r.lac.Entry = -2 },
	} {
		r := sampleRecord()
		spoil(&r)
		value, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeRecord(value); !errors.Is(err, sdk.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decodeRecord([]byte("not a record")); !errors.Is(err, sdk.ErrCorrupt) {
		t.Errorf("garbage: %v", err)
	}
}

func TestCorruptRecordIsNotOpened(t *testing.T) {
	h := newHouse(t)
	h.close(h.open("log"))
	if _, err := h.metadata.Put(h.ctx(), recordKey("log"), []byte{0xff, 1}, sdk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	for _, o := range []OpenOptions{{}, {Create: true}} {
		if _, err := Open(h.ctx(), "log", h.settings, h.config, o); !errors.Is(err, sdk.ErrCorrupt) {
			t.Errorf("open: %v", err)
		}
	}
}

// Whatever bytes are found, decoding them ends in a record that encodes to the
// same meaning, or in an error; never in a panic.
func FuzzDecodeRecord(f *testing.F) {
	r := sampleRecord()
	value, err := r.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		first, err := decodeRecord(value)
		if err != nil {
			return
		}
		again, err := first.encode()
		if err != nil {
			return // text that is not UTF-8 cannot come from us
		}
		second, err := decodeRecord(again)
		if err != nil {
			t.Fatalf("what was decoded and encoded cannot be decoded: %v", err)
		}
		if once, err := second.encode(); err != nil || !bytes.Equal(once, again) {
			t.Errorf("decoded %+v, again %+v, %v", first, second, err)
		}
	})
}

func TestKeys(t *testing.T) {
	for name, want := range map[string]string{
		"orders": "topic/orders", "a/b": "topic/a%2Fb", "a%2Fb": "topic/a%252Fb", "ä": "topic/%C3%A4",
	} {
		if got := recordKey(name); got != want {
			t.Errorf("recordKey(%q) = %q, want %q", name, got, want)
		}
	}
	if got := cursorKey("a", "b/c"); got != "cursor/a/b%2Fc" {
		t.Errorf("cursorKey = %q", got)
	}
}
