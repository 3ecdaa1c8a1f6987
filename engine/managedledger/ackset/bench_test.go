package ackset

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
)

// keyShared yields the acknowledgements of 20 consumers that each go through
// their own entries in order, but not side by side: the order in which a
// key-shared subscription acknowledges n entries of ledgers of 50,000.
func keyShared(n int) []sdk.Position {
	r := rand.New(rand.NewPCG(1, 2))
	queues := make([][]sdk.Position, 20)
	for i := range n {
		q := r.IntN(len(queues))
		queues[q] = append(queues[q], sdk.Position{Ledger: sdk.LedgerID(i / 50_000), Entry: sdk.EntryID(i % 50_000)})
	}
	acks := make([]sdk.Position, 0, n)
	for len(acks) < n {
		q := r.IntN(len(queues))
		take := min(r.IntN(100), len(queues[q]))
		acks = append(acks, queues[q][:take]...)
		queues[q] = queues[q][take:]
	}
	return acks
}

func rolling(p sdk.Position) sdk.Position {
	if p.Entry == 49_999 {
		return sdk.Position{Ledger: p.Ledger + 1}
	}
	return p.Next()
}

func BenchmarkAddKeyShared(b *testing.B) {
	acks := keyShared(1_000_000)
	for b.Loop() {
		s := New(sdk.Position{Entry: -1}, rolling)
		for i := range acks {
			s.Add(acks[i])
		}
		if s.Count() != 0 || s.MarkDelete() != (sdk.Position{Ledger: 19, Entry: 49_999}) {
			b.Fatal("not everything is acknowledged")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/ack")
}

// BenchmarkHoldOneMillion leaves the first entry out, so that nothing can go.
func BenchmarkHoldOneMillion(b *testing.B) {
	acks := keyShared(1_000_000)
	var before, after runtime.MemStats
	var s *Set
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		s = New(sdk.Position{Entry: -1}, rolling)
		for i := range acks {
			if acks[i].Entry%2 == 1 {
				s.Add(acks[i])
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(s.Count()), "bytes/ack")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5e5, "ns/ack")
}

func BenchmarkQueries(b *testing.B) {
	s := New(sdk.Position{Entry: -1}, rolling)
	for _, p := range keyShared(1_000_000) {
		if p.Entry%2 == 1 {
			s.Add(p)
		}
	}
	middle := sdk.Position{Ledger: 10, Entry: 25_000}
	b.Run("Contains", func(b *testing.B) {
		for b.Loop() {
			s.Contains(middle)
		}
	})
	b.Run("FirstRun", func(b *testing.B) {
		for b.Loop() {
			s.FirstRun(Range{10, 25_000, 25_099})
		}
	})
	b.Run("CountIn", func(b *testing.B) {
		for b.Loop() {
			s.CountIn(sdk.Position{Ledger: 1}, middle)
		}
	})
	b.Run("Snapshot10000", func(b *testing.B) {
		for b.Loop() {
			s.Snapshot(10_000)
		}
	})
}
