package pebble

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// creation is one call of Create. The ledger is known to the store before
// anybody can find it in the database, so that whoever recovers it at once
// fences the writer that Create returns.
type creation struct {
	store   *Store
	options sdk.CreateOptions
	ledger  *ledger // set by put, on the committer's goroutine; read after done

	mu      sync.Mutex // guards what follows
	ended   bool       // done was called
	givenUp bool       // the caller does not want the ledger any more
}

// put gives the ledger its id. It is called by the committer.
func (c *creation) put(batch *pebble.Batch) error {
	s := c.store
	id := s.nextLedger
	key := ledgerKey(id)
	if err := batch.Set(key, record{last: sdk.NoEntry, labels: c.options.Labels}.encode(key), nil); err != nil {
		return err
	}
	if err := putCounter(batch, nextLedgerKey, int64(id+1)); err != nil {
		return err
	}
	s.nextLedger++
	c.ledger = newLedger(id)
	c.ledger.publish(sdk.LedgerState{LastConfirmed: sdk.NoEntry})
	s.mu.Lock()
	defer s.mu.Unlock()
	c.ledger.handles = 1
	s.ledgers[id] = c.ledger
	return nil
}

// done is told whether the ledger is stored.
func (c *creation) done(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.ledger == nil {
		return
	}
	if err != nil {
		c.ledger.gone.Store(true)
		c.store.forget(c.ledger)
	}
	if err != nil || c.givenUp {
		c.store.release(c.ledger)
		c.ledger = nil
	}
}

// giveUp is called when Create fails; the ledger may still be made.
func (c *creation) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.givenUp = true
	if c.ended && c.ledger != nil {
		c.store.release(c.ledger)
		c.ledger = nil
	}
}
