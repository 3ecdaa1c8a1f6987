package pebble_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

// BenchmarkRead reads a closed ledger of 128-byte entries from the beginning to
// the end, so many entries a call, as a reader does that is far behind.
func BenchmarkRead(b *testing.B) {
	const entries = 400_000
	ctx, dir := context.Background(), b.TempDir()
	store, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	writer, err := store.Create(ctx, sdk.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for first := sdk.EntryID(0); first < entries; first += 1000 {
		batch := make([][]byte, 1000)
		for i := range batch {
			batch[i] = payload(writer.ID(), first+sdk.EntryID(i), 128)
		}
		outcome := make(chan error, 1)
		writer.Append(sdk.Batch{First: first, Entries: batch, Done: func(_ sdk.EntryID, err error) { outcome <- err }})
		if err := <-outcome; err != nil {
			b.Fatal(err)
		}
	}
	if _, err := writer.Seal(ctx); err != nil {
		b.Fatal(err)
	}
	if err := store.Close(ctx); err != nil {
		b.Fatal(err)
	}
	if store, err = pebble.Open(dir, pebble.Options{}); err != nil {
		b.Fatal(err)
	}
	defer store.Close(ctx)
	reader, err := store.Open(ctx, writer.ID(), sdk.OpenRead)
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []sdk.EntryID{1, 10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("%d a call", count), func(b *testing.B) {
			b.ReportAllocs()
			first, done := sdk.EntryID(0), 0
			for b.Loop() {
				reader.Read(ctx, sdk.Range{First: first, Last: first + count - 1}, func(payloads [][]byte, err error) {
					if err != nil {
						b.Fatal(err)
					}
					done += len(payloads)
				})
				if first += count; first+count > entries {
					first = 0
				}
			}
			b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
