package engine

import (
	"errors"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
)

func TestProducerSnapshotRoundTrip(t *testing.T) {
	upTo := sdk.Position{Ledger: 7, Entry: sdk.NoEntry}
	records := []*producerRecord{
		{name: "zero", known: true},
		{name: "größe", known: true, stored: 1<<64 - 1},
		{name: "unknown"},
		{name: "a/b", known: true, stored: 5},
	}
	value, err := encodeProducers(records, upTo)
	if err != nil {
		t.Fatal(err)
	}
	names, at, err := decodeProducers(value)
	if err != nil || at != upTo || len(names) != 3 {
		t.Fatalf("%v at %v, %v", names, at, err)
	}
	for i, want := range []*producerRecord{records[0], records[1], records[3]} {
		if names[i].GetName() != want.name || names[i].GetSequence() != want.stored {
			t.Errorf("%v, want %s with %d", names[i], want.name, want.stored)
		}
	}
}

func FuzzProducerSnapshot(f *testing.F) {
	value, err := encodeProducers([]*producerRecord{{name: "p", known: true, stored: 9}}, sdk.Position{Ledger: 1, Entry: 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add([]byte{0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte("\x1a\x04\x0a\x02.."))
	f.Fuzz(func(t *testing.T, value []byte) {
		names, upTo, err := decodeProducers(value)
		if err != nil {
			if !errors.Is(err, sdk.ErrCorrupt) {
				t.Errorf("%v is not damage", err)
			}
			return
		}
		if upTo.Ledger < 0 || upTo.Entry < sdk.NoEntry {
			t.Errorf("position %v was accepted", upTo)
		}
		for _, p := range names {
			if CheckName("producer", p.GetName()) != nil {
				t.Errorf("name %q was accepted", p.GetName())
			}
		}
	})
}
