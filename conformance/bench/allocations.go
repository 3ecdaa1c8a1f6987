package main

import (
	"context"
	"runtime"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/memory"
)

// allocationRows count allocations of the engine, on memory, where the store
// makes next to none. An add alone pays for a batch of its own; under load the
// batch is shared.
func allocationRows() []row {
	const unit = "allocations/entry"
	return []row{
		{name: "allocations/add/500x16-callback", unit: unit, aim: 2, lower: true, run: func(ctx context.Context, e env) (float64, error) {
			return allocationsOfAdds(ctx, e, manyWithSixteenOut)
		}},
		{name: "allocations/add/1-waiting", unit: unit, lower: true, run: func(ctx context.Context, e env) (float64, error) { return allocationsOfAdds(ctx, e, oneWaiting) }},
		{name: "allocations/read-of-100", unit: unit, aim: 1, lower: true, run: allocationsOfReads},
	}
}

// mallocs returns the number of allocations that work makes.
func mallocs(work func() error) (float64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := work()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), err
}

func allocationsOfAdds(ctx context.Context, e env, l load) (float64, error) {
	log, err := openMemoryLog("")
	if err != nil {
		return 0, err
	}
	defer log.close()
	run := newProducers(l, log, 128)
	count, err := mallocs(func() error {
		_, err := run.during(ctx, e.cell/2)
		return err
	})
	return count / float64(run.acked.Load()), err
}

// allocationsOfReads reads 100 entries at a time from the cache.
func allocationsOfReads(ctx context.Context, e env) (float64, error) {
	st, err := newStand(memory.Open())
	if err != nil {
		return 0, err
	}
	defer st.close()
	ledger, err := st.open("reads", nil)
	if err != nil {
		return 0, err
	}
	defer ledger.Close(ctx)
	cursor, err := ledger.OpenCursor(ctx, "reader", managedledger.CursorOptions{Durable: true, From: managedledger.Earliest()})
	if err != nil {
		return 0, err
	}
	if err := fill(ctx, ledger, 100_000); err != nil {
		return 0, err
	}
	read := 0
	count, err := mallocs(func() error {
		for {
			result, err := cursor.Read(ctx, managedledger.Max{Entries: 100})
			if err != nil || len(result.Entries) == 0 {
				return err
			}
			read += len(result.Entries)
		}
	})
	return count / float64(read), err
}
