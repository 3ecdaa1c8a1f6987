package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
)

// syncDelays are the two ways each durable row runs.
var syncDelays = [...]struct {
	name  string
	delay time.Duration
}{{"as-is", 0}, {"sync+2ms", 2 * time.Millisecond}}

// appender is a log that producers add to.
type appender interface {
	add(payload []byte) error
	// adder returns a func that adds without waiting; done is called for each
	// entry once it is acknowledged.
	adder(done func()) func(payload []byte) error
	close() error
}

// load is how producers add: each waits for its entry, or keeps outstanding
// entries in flight and learns of them by callback.
type load struct {
	name        string
	producers   int
	outstanding int // 0: one, and wait
	aim         float64
}

// The loads of the table. The aim is that of the durable rows.
var (
	oneWaiting         = load{"1-waiting", 1, 0, 1.0}
	sixteenWaiting     = load{"16-waiting", 16, 0, 1.0}
	manyWaiting        = load{"500-waiting", 500, 0, 0.5}
	manyWithSixteenOut = load{"500x16-callback", 500, 16, 0.35}
)

// appendRows measure adds to the raw file, and through a managed ledger on
// pebble and on memory.
func appendRows() []row {
	var rows []row
	for _, sync := range syncDelays {
		for _, size := range []int{128, 1024} {
			for _, l := range []load{oneWaiting, sixteenWaiting, manyWaiting, manyWithSixteenOut} {
				name := func(store string) string {
					return fmt.Sprintf("add/%s/%s/%dB/%s", store, l.name, size, sync.name)
				}
				measured := func(open func(dir string) (appender, error)) func(context.Context, env) (float64, error) {
					return func(ctx context.Context, e env) (float64, error) { return l.measure(ctx, e, size, open) }
				}
				delay := sync.delay
				rows = append(rows,
					row{name: name("raw-file"), unit: "entries/s", run: measured(func(dir string) (appender, error) { return newRawLog(dir, delay) })},
					row{name: name("pebble"), unit: "entries/s", base: name("raw-file"), aim: l.aim, run: measured(func(dir string) (appender, error) { return openPebbleLog(dir, delay) })},
				)
				if delay == 0 {
					rows = append(rows, row{name: name("memory"), unit: "entries/s", base: name("raw-file"), run: measured(openMemoryLog)})
				}
			}
		}
	}
	return rows
}

// measure runs the load for one cell and returns acknowledged entries a second.
func (l load) measure(ctx context.Context, e env, size int, open func(dir string) (appender, error)) (float64, error) {
	dir, remove, err := e.scratch()
	if err != nil {
		return 0, err
	}
	defer remove()
	log, err := open(dir)
	if err != nil {
		return 0, err
	}
	run := newProducers(l, log, size)
	rate, err := run.during(ctx, e.cell)
	if closing := log.close(); err == nil {
		err = closing
	}
	return rate, err
}

// producers drive one log until stop is set.
type producers struct {
	load    load
	log     appender
	payload []byte
	stop    atomic.Bool
	acked   atomic.Int64
	failed  atomic.Pointer[error]
}

func newProducers(l load, log appender, size int) *producers {
	return &producers{load: l, log: log, payload: incompressible(size)}
}

// during runs all producers, lets them warm up for a fifth of the time, and
// returns the rate of the rest.
func (p *producers) during(ctx context.Context, d time.Duration) (float64, error) {
	var running sync.WaitGroup
	for range p.load.producers {
		running.Go(p.produce)
	}
	pause(ctx, d/5)
	before, began := p.acked.Load(), time.Now()
	pause(ctx, d)
	rate := float64(p.acked.Load()-before) / time.Since(began).Seconds()
	p.stop.Store(true)
	running.Wait()
	if failure := p.failed.Load(); failure != nil {
		return 0, *failure
	}
	return rate, ctx.Err()
}

func (p *producers) produce() {
	if p.load.outstanding > 0 {
		p.produceByCallback()
		return
	}
	for !p.stop.Load() {
		if err := p.log.add(p.payload); err != nil {
			p.failed.CompareAndSwap(nil, &err)
			return
		}
		p.acked.Add(1)
	}
}

// produceByCallback keeps the outstanding entries in flight; a slot is given
// back by the callback and collects in a channel, so that nobody is woken for
// each entry.
func (p *producers) produceByCallback() {
	slots := make(chan struct{}, p.load.outstanding)
	done := func() {
		p.acked.Add(1)
		slots <- struct{}{}
	}
	for range p.load.outstanding {
		slots <- struct{}{}
	}
	add := p.log.adder(done)
	for !p.stop.Load() {
		<-slots
		if err := add(p.payload); err != nil {
			p.failed.CompareAndSwap(nil, &err)
			return
		}
	}
	for range p.load.outstanding - 1 {
		<-slots
	}
}

// ledgerLog is a managed ledger as an appender.
type ledgerLog struct {
	ledger *managedledger.ManagedLedger
	finish func() error
}

func (l ledgerLog) add(payload []byte) error {
	_, err := l.ledger.Add(context.Background(), payload)
	return err
}

func (l ledgerLog) adder(done func()) func(payload []byte) error {
	acknowledged := func(_ managedledger.AddResult, err error) {
		if err != nil {
			panic(err)
		}
		done()
	}
	var entries [1][]byte
	return func(payload []byte) error {
		entries[0] = payload
		return l.ledger.AddAsync(entries[:], acknowledged)
	}
}

func (l ledgerLog) close() error { return l.finish() }
