package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

const (
	closedEntries    = 200_000
	submissionReader = 8
)

// submissionRows compare the submission strategies for reads of closed
// ledgers while 16 producers write to the same log, cache off.
func submissionRows() []row {
	const base = "read-closed/ordered-executor"
	measure := func(strategy scheduling.Strategy) func(context.Context, env) (float64, error) {
		return func(ctx context.Context, e env) (float64, error) { return readClosed(ctx, e, strategy) }
	}
	return []row{
		{name: base, unit: "reads/s", run: measure(scheduling.OrderedExecutor())},
		{name: "read-closed/direct", unit: "reads/s", base: base, aim: 1, run: measure(scheduling.Direct())},
	}
}

// readClosed returns cursorless reads of 10 entries at random places of closed
// ledgers, a second.
func readClosed(ctx context.Context, e env, strategy scheduling.Strategy) (float64, error) {
	dir, remove, err := e.scratch()
	if err != nil {
		return 0, err
	}
	defer remove()
	s, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		return 0, err
	}
	st, err := newStand(s)
	if err != nil {
		return 0, err
	}
	defer st.close()
	config := entrycache.DefaultConfig()
	config.MaxBytes = 0
	if err := st.cache.Configure(config); err != nil {
		return 0, err
	}
	ledger, err := st.open("closed", func(c *managedledger.Config) { c.Submission = strategy })
	if err != nil {
		return 0, err
	}
	defer ledger.Close(ctx)
	if err := fill(ctx, ledger, closedEntries); err != nil {
		return 0, err
	}
	places, err := placesOf(ctx, ledger)
	if err != nil {
		return 0, err
	}
	run := newProducers(sixteenWaiting, ledgerLog{ledger: ledger}, 128)
	reads := &randomReads{ledger: ledger, places: places, stop: &run.stop}
	var reading sync.WaitGroup
	for range submissionReader {
		reading.Go(func() { reads.read(ctx) })
	}
	began := time.Now()
	if _, err := run.during(ctx, e.cell); err != nil {
		return 0, err
	}
	reading.Wait()
	if failure := reads.failed.Load(); failure != nil {
		return 0, *failure
	}
	return float64(reads.count.Load()) / time.Since(began).Seconds(), nil
}

// placesOf seals the ledger and returns one position in ten of what it holds.
func placesOf(ctx context.Context, ledger *managedledger.ManagedLedger) ([]sdk.Position, error) {
	if err := ledger.Roll(ctx); err != nil {
		return nil, err
	}
	var places []sdk.Position
	for _, l := range ledger.Stats().Ledgers {
		for entry := int64(0); entry+10 <= l.Entries; entry += 10 {
			places = append(places, sdk.Position{Ledger: l.ID, Entry: sdk.EntryID(entry)})
		}
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no closed ledger holds entries")
	}
	return places, nil
}

type randomReads struct {
	ledger *managedledger.ManagedLedger
	places []sdk.Position
	stop   *atomic.Bool
	count  atomic.Int64
	failed atomic.Pointer[error]
}

func (r *randomReads) read(ctx context.Context) {
	for !r.stop.Load() {
		from := r.places[rand.IntN(len(r.places))]
		if _, err := r.ledger.Read(ctx, from, managedledger.Max{Entries: 10}); err != nil {
			r.failed.CompareAndSwap(nil, &err)
			return
		}
		r.count.Add(1)
	}
}
