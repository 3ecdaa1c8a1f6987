package memory_test

import (
	"context"
	"testing"

	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
)

var (
	_ sdk.LedgerStore = (*memory.Store)(nil)
	_ sdk.Plugin      = (*memory.Store)(nil)
)

// S-002: the caller may use its slice again after the acknowledgement.
func TestS002AnEntryHoldsTheBytesOfTheCall(t *testing.T) {
	store := memory.Open()
	defer store.Close(context.Background())
	writer, err := store.Create(context.Background(), sdk.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte("before")
	for first := range sdk.EntryID(1000) {
		copy(payload, "before")
		writer.Append(sdk.Batch{First: first, Entries: [][]byte{payload}, Done: func(_ sdk.EntryID, err error) {
			if err != nil {
				t.Fatal(err)
			}
		}})
		copy(payload, "after!")
	}
	writer.Read(context.Background(), sdk.Range{First: 0, Last: 999}, func(payloads [][]byte, err error) {
		if err != nil || len(payloads) != 1000 {
			t.Fatalf("%d payloads, %v", len(payloads), err)
		}
		for i, got := range payloads {
			if string(got) != "before" {
				t.Fatalf("entry %d is %q", i, got)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	store := memory.Open()
	defer store.Close(context.Background())
	writer, _ := store.Create(context.Background(), sdk.CreateOptions{})
	entries := [][]byte{make([]byte, 128)}
	done := func(sdk.EntryID, error) {}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		writer.Append(sdk.Batch{First: sdk.EntryID(i), Entries: entries, Done: done})
	}
}
