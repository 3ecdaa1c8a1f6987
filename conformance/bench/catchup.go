package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
)

// catchUpRows measure a reader that is far behind: alone, with the writers
// busy, and what it costs the writers.
func catchUpRows() []row {
	c := &catchUp{}
	quiet := "catch-up/read-alone"
	writers := "catch-up/writers-alone"
	return []row{
		{name: quiet, unit: "entries/s", run: c.alone},
		{name: writers, unit: "entries/s", run: c.writersAlone},
		{name: "catch-up/read-while-writing", unit: "entries/s", base: quiet, run: c.figure(func(f catchUpFigures) float64 { return f.readRate })},
		{name: "catch-up/writers-while-reading", unit: "entries/s", base: writers, run: c.figure(func(f catchUpFigures) float64 { return f.writeRate })},
		{name: "catch-up/read-per-written", unit: "x", aim: 1.05, run: c.figure(func(f catchUpFigures) float64 { return f.readRate / f.writeRate })},
		{name: "catch-up/seconds-to-the-tail", unit: "s", lower: true, run: c.figure(func(f catchUpFigures) float64 { return f.seconds })},
	}
}

// catchUp keeps the figures of the last run, so that one run feeds all rows of
// a round.
type catchUp struct {
	figures catchUpFigures
	unread  int // rows that have not used figures yet
}

type catchUpFigures struct{ readRate, writeRate, seconds float64 }

const catchUpShared = 4 // rows fed by one run

func (c *catchUp) figure(pick func(catchUpFigures) float64) func(context.Context, env) (float64, error) {
	return func(ctx context.Context, e env) (float64, error) {
		if c.unread == 0 {
			figures, err := c.race(ctx, e)
			if err != nil {
				return 0, err
			}
			c.figures, c.unread = figures, catchUpShared
		}
		c.unread--
		return pick(c.figures), nil
	}
}

// behind makes a log with the backlog and a cursor at its start.
func (c *catchUp) behind(ctx context.Context, e env, entries int) (*stand, *managedledger.ManagedLedger, *managedledger.Cursor, func(), error) {
	dir, remove, err := e.scratch()
	if err != nil {
		return nil, nil, nil, nil, err
	}
	s, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		return nil, nil, nil, remove, err
	}
	st, err := newStand(s)
	if err != nil {
		return nil, nil, nil, remove, err
	}
	ledger, err := st.open("behind", nil)
	if err != nil {
		return nil, nil, nil, remove, err
	}
	cursor, err := ledger.OpenCursor(ctx, "late", managedledger.CursorOptions{Durable: true, From: managedledger.Earliest()})
	if err == nil {
		err = fill(ctx, ledger, entries)
	}
	return st, ledger, cursor, func() {
		ledger.Close(ctx)
		st.close()
		remove()
	}, err
}

// fill adds entries in large batches.
func fill(ctx context.Context, ledger *managedledger.ManagedLedger, entries int) error {
	const batch = 2000
	payload := incompressible(128)
	for done := 0; done < entries; done += batch {
		payloads := make([][]byte, batch)
		for i := range payloads {
			payloads[i] = payload
		}
		if _, err := ledger.Add(ctx, payloads...); err != nil {
			return fmt.Errorf("filling the backlog: %w", err)
		}
	}
	return nil
}

// readToTail reads until nothing is left and returns the number of entries.
func readToTail(ctx context.Context, cursor *managedledger.Cursor) (int, error) {
	total := 0
	for {
		result, err := cursor.Read(ctx, managedledger.Max{Entries: 500, Bytes: 5 << 20})
		if err != nil || len(result.Entries) == 0 {
			return total, err
		}
		total += len(result.Entries)
	}
}

func (c *catchUp) alone(ctx context.Context, e env) (float64, error) {
	_, _, cursor, end, err := c.behind(ctx, e, e.backlog/5)
	if end != nil {
		defer end()
	}
	if err != nil {
		return 0, err
	}
	began := time.Now()
	read, err := readToTail(ctx, cursor)
	return float64(read) / time.Since(began).Seconds(), err
}

func (c *catchUp) writersAlone(ctx context.Context, e env) (float64, error) {
	return manyWaiting.measure(ctx, e, 128, func(dir string) (appender, error) { return openPebbleLog(dir, 0) })
}

// race lets 500 producers go on at full speed while the cursor comes back from
// the whole backlog to the tail.
func (c *catchUp) race(ctx context.Context, e env) (catchUpFigures, error) {
	_, ledger, cursor, end, err := c.behind(ctx, e, e.backlog)
	if end != nil {
		defer end()
	}
	if err != nil {
		return catchUpFigures{}, err
	}
	run := newProducers(manyWaiting, ledgerLog{ledger: ledger}, 128)
	ended := make(chan error, 1)
	reading, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	began := time.Now()
	var read int
	go func() {
		var err error
		read, err = readToTail(reading, cursor)
		run.stop.Store(true)
		ended <- err
	}()
	for range run.load.producers {
		go run.produce()
	}
	err = <-ended
	took := time.Since(began).Seconds()
	return catchUpFigures{readRate: float64(read) / took, writeRate: float64(run.acked.Load()) / took, seconds: took}, err
}
