package entrycache

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// slowStorage ends each read on a goroutine of its own, after some time or
// with an error, and sometimes gives less than it was asked for.
type slowStorage struct {
	storage
	t *testing.T
}

func (s *slowStorage) Read(ctx context.Context, r sdk.Range, done func([][]byte, error)) {
	go func() {
		time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
		switch n := rand.IntN(10); {
		case ctx.Err() != nil:
			done(nil, ctx.Err())
		case n == 0:
			done(nil, sdk.ErrUnavailable)
		case n == 1:
			done(payloads(s.id, r.First, r.First), nil)
		default:
			done(payloads(s.id, r.First, r.Last), nil)
		}
	}()
}

// allTogether uses everything at once; each read must end once, with the right
// entries or an error.
func allTogether(t *testing.T, c *Cache) {
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 300 {
				id, first := sdk.LedgerID(rand.IntN(3)), sdk.EntryID(rand.IntN(500))
				c.Add(id, first, payloads(id, first, first+sdk.EntryID(rand.IntN(40))))
				if got := c.Get(id, first, first+60, 500); wrong(got, id, first) != "" {
					t.Error(wrong(got, id, first))
				}
				turn(c, id)
			}
		})
		workers.Go(func() {
			for range 300 {
				readOnce(t, c)
			}
		})
	}
	workers.Wait()
	time.Sleep(time.Second) // abandoned storage reads end
}

func turn(c *Cache, id sdk.LedgerID) {
	switch rand.IntN(30) {
	case 0:
		c.DropLedger(id)
	case 1:
		c.Evict(time.Now())
	case 2:
		config := *c.config.Load()
		config.MaxReadBytes = int64(rand.IntN(40_000))
		config.MaxBytes = int64(50_000 + rand.IntN(50_000))
		_ = c.Configure(config)
	case 3:
		time.Sleep(time.Millisecond)
	}
}

func readOnce(t *testing.T, c *Cache) {
	ctx := t.Context()
	if rand.IntN(2) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(100))*time.Microsecond)
		defer cancel()
	}
	id, first := sdk.LedgerID(rand.IntN(3)), sdk.EntryID(rand.IntN(500))
	s := &slowStorage{storage{id: id}, t}
	ended := make(chan struct{})
	c.Read(ctx, ReadRequest{
		Reader: s, Range: sdk.Range{First: first, Last: first + sdk.EntryID(rand.IntN(40))},
		Keep: rand.IntN(2) == 0, EstimatedBytes: int64(rand.IntN(10_000)),
	}, here, func(got [][]byte, err error) {
		if err == nil && (len(got) == 0 || wrong(got, id, first) != "") {
			t.Errorf("%d entries, %s", len(got), wrong(got, id, first))
		}
		close(ended) // panics if the read ends twice
	})
	<-ended
}

func TestAllTogether(t *testing.T) {
	var c *Cache
	synctest.Test(t, func(t *testing.T) {
		c = newCache(t, func(c *Config) { c.MaxBytes, c.MaxReadBytes, c.TTL = 100_000, 30_000, time.Millisecond })
		allTogether(t, c)
	})
	checkFigures(t, c)
	if s := c.Stats(); s.ReadsInFlight != 0 || s.ReadBytes != 0 || s.Waiting != 0 {
		t.Fatalf("%+v", s)
	}
	for i := range c.shards {
		if n := len(c.shards[i].flights); n != 0 {
			t.Fatalf("%d ledgers have reads in the table", n)
		}
	}
}
