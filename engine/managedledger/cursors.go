package managedledger

import (
	"context"

	"github.com/tidemark-engine/tidemark/sdk"
)

// cursors are the cursors of one log.
type cursors struct{ m *ManagedLedger }

// init ties the cursors to their log.
func (c *cursors) init(m *ManagedLedger) { c.m = m }

// recover brings back the durable cursors. It is called once, by Open.
func (c *cursors) recover(context.Context) error { return nil }

// slowest returns the least mark-delete position of all durable cursors; false
// if there is none.
func (c *cursors) slowest() (sdk.Position, bool) { return sdk.Position{}, false }

// active says whether confirmed entries are worth keeping in the cache.
func (c *cursors) active() bool { return false }

// trimmed is told, on the lane, that ledgers were closed or removed.
func (c *cursors) trimmed(*view) {}

// clearAll acknowledges everything confirmed for all cursors.
func (c *cursors) clearAll(context.Context) error { return nil }

// close writes the cursors down and ends their reads with err.
func (c *cursors) close(context.Context, error) error { return nil }
