package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/memory"
)

const tailRate = 2000 // appends a second

// tailRows measure append to delivery at the tail, from the cache, paced.
func tailRows() []row {
	var rows []row
	for _, c := range []struct {
		cursors int
		aim     float64
	}{{1, 5}, {20, 20}, {500, 300}} {
		for _, percentile := range []float64{50, 99} {
			r := row{name: fmt.Sprintf("tail/%d-cursors/p%.0f", c.cursors, percentile), unit: "us", lower: true}
			if percentile == 50 {
				r.aim = c.aim
			}
			r.run = func(ctx context.Context, e env) (float64, error) {
				h, err := measureTail(ctx, e, c.cursors)
				if err != nil {
					return 0, err
				}
				return float64(h.ValueAtPercentile(percentile)) / 1000, nil
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// measureTail appends at a steady pace; each entry carries its time, and each
// cursor's callback takes the difference.
func measureTail(ctx context.Context, e env, cursors int) (*hdr.Histogram, error) {
	st, err := newStand(memory.Open())
	if err != nil {
		return nil, err
	}
	defer st.close()
	ledger, err := st.open("tail", nil)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	readers := make([]*tailReader, cursors)
	for i := range readers {
		cursor, err := ledger.OpenCursor(ctx, fmt.Sprint(i), managedledger.CursorOptions{From: managedledger.Latest()})
		if err != nil {
			return nil, err
		}
		readers[i] = &tailReader{cursor: cursor, began: began, latency: hdr.New(1, int64(time.Minute), 3)}
		readers[i].next()
	}
	tick := time.NewTicker(time.Second / tailRate)
	for time.Since(began) < e.cell && ctx.Err() == nil {
		<-tick.C
		payload := make([]byte, 128)
		binary.LittleEndian.PutUint64(payload, uint64(time.Since(began)))
		if _, err := ledger.Add(ctx, payload); err != nil {
			return nil, err
		}
	}
	tick.Stop()
	if err := ledger.Close(ctx); err != nil {
		return nil, err
	}
	all := hdr.New(1, int64(time.Minute), 3)
	for _, r := range readers {
		r.mu.Lock()
		all.Merge(r.latency)
		r.mu.Unlock()
	}
	if all.TotalCount() == 0 {
		return nil, errors.New("no entry was delivered")
	}
	return all, nil
}

// tailReader reads for ever: each callback starts the next read.
type tailReader struct {
	cursor *managedledger.Cursor
	began  time.Time

	mu      sync.Mutex // guards latency against the final merge
	latency *hdr.Histogram
}

func (r *tailReader) next() {
	err := r.cursor.ReadAsync(managedledger.Max{Entries: 100}, managedledger.ReadOptions{Wait: true}, r.deliver)
	if err != nil && r.latency.TotalCount() == 0 {
		panic(err)
	}
}

func (r *tailReader) deliver(result managedledger.ReadResult, err error) {
	if err != nil {
		return // the log was closed: the cell is over
	}
	now := time.Since(r.began)
	r.mu.Lock()
	for _, entry := range result.Entries {
		r.latency.RecordValue(int64(now) - int64(binary.LittleEndian.Uint64(entry.Payload)))
	}
	r.mu.Unlock()
	r.next()
}
