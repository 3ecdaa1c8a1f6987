package pebble

import (
	"context"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// reclaimAfter is how long the room of deleted ledgers may stay taken when the
// disk is not full. Waiting lets deletions that come one by one share the work.
const reclaimAfter = 10 * time.Second

// reclaimer gives the room of deleted ledgers back. A deletion only marks a
// range as deleted, and Pebble by itself may never come to write the files anew
// that hold it. It belongs to the committer's goroutine.
type reclaimer struct {
	store   *Store
	deleted []sdk.LedgerID
	due     time.Time // when their room is reclaimed; zero if there are none

	cancel  context.CancelFunc // of the work that runs; nil if none does
	stopped chan struct{}      // closed by the work when it ends
}

// note takes a ledger whose deletion is stored.
func (r *reclaimer) note(id sdk.LedgerID) {
	r.deleted = append(r.deleted, id)
	if r.due.IsZero() {
		r.due = time.Now().Add(reclaimAfter)
	}
}

// alarm is when to look again; 0: never.
func (r *reclaimer) alarm() time.Duration {
	if r.due.IsZero() || r.busy() {
		return 0
	}
	return max(time.Until(r.due), time.Millisecond)
}

// look starts the work when it is due, or at once if there is a hurry.
func (r *reclaimer) look(hurry bool) {
	if r.due.IsZero() || r.busy() || !hurry && time.Now().Before(r.due) {
		return
	}
	slices.Sort(r.deleted)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	r.cancel, r.stopped = cancel, stopped
	deleted := r.deleted
	r.deleted, r.due = nil, time.Time{}
	go func() { // ends when the work is done or stop cancels it
		defer r.store.in.kick()
		defer close(stopped)
		r.store.database.reclaim(ctx, deleted)
	}()
}

// busy reports whether work runs.
func (r *reclaimer) busy() bool {
	if r.cancel == nil {
		return false
	}
	select {
	case <-r.stopped:
		r.stop()
		return false
	default:
		return true
	}
}

// stop ends work that runs. What it did not come to is reclaimed when Pebble
// happens to write those files anew.
func (r *reclaimer) stop() {
	if r.cancel != nil {
		r.cancel()
		<-r.stopped
		r.cancel = nil
	}
}

// reclaim makes Pebble write the files anew that hold the deleted ledgers, which
// are sorted.
func (d *database) reclaim(ctx context.Context, deleted []sdk.LedgerID) {
	for len(deleted) > 0 && ctx.Err() == nil {
		run := 1
		for run < len(deleted) && deleted[run] <= deleted[run-1]+1 {
			run++
		}
		from, _ := blocksOf(deleted[0])
		_, below := blocksOf(deleted[run-1])
		_ = d.view(func(db *pebble.DB) error { return db.Compact(ctx, from, below, false) })
		deleted = deleted[run:]
	}
}
