package pebble

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// intake is where writers leave what they want written, until the committer
// takes it.
type intake struct {
	maxEntryBytes, maxPendingBytes int

	mu        sync.Mutex // guards what follows, and the queues of all ledgers
	ready     []*ledger  // those with something in their queue
	changes   []*change
	units     int   // entries, refused batches and changes queued
	bytes     int   // payload bytes queued
	noAdds    error // why adds are refused, nil if they are not
	noChanges error // why changes are refused, nil if they are not
	ended     bool  // the committer takes what is there and ends
	kicked    bool  // the committer should look around
	wakeAt    int   // units at which the waiting committer is woken; 0: it does not wait

	wake chan struct{} // holds a token when the committer should look again
}

// maxPendingUnits bounds what waits besides its bytes: entries may be empty.
const maxPendingUnits = 1 << 20

// change is a write that is not an add: a ledger's record, metadata.
type change struct {
	// grows says that the change is refused when adds are.
	grows bool
	// put adds the change to a batch, on the committer's goroutine, in the
	// order of the log. If it fails it has added nothing.
	put func(*pebble.Batch) error
	// done is told the outcome, on the committer's goroutine; it does not block.
	done func(error)
}

// add takes a batch in. An error means that the batch is refused and that its
// Done is for the caller to call.
func (in *intake) add(l *ledger, batch sdk.Batch) error {
	size, tooLarge := in.measure(batch)
	in.mu.Lock()
	defer in.mu.Unlock()
	if l.refusal == nil {
		l.refusal = in.refuses(l, batch, size, tooLarge)
	}
	r := request{batch: batch, bytes: size, err: l.refusal}
	if r.err != nil {
		r.bytes, r.batch.Entries = 0, nil
		if l.outstanding == 0 {
			return r.err
		}
	}
	if len(l.queue) == 0 {
		in.ready = append(in.ready, l)
	}
	l.queue = append(l.queue, r)
	l.outstanding++
	l.next += sdk.EntryID(len(r.batch.Entries))
	in.bytes += r.bytes
	in.queued(r.units())
	return nil
}

func (in *intake) measure(batch sdk.Batch) (size, tooLarge int) {
	for _, entry := range batch.Entries {
		size += len(entry)
		if len(entry) > in.maxEntryBytes {
			tooLarge = len(entry)
		}
	}
	return size, tooLarge
}

// refuses says why the batch is not taken. Call it with the mutex held.
func (in *intake) refuses(l *ledger, batch sdk.Batch, size, tooLarge int) error {
	if in.noAdds != nil {
		return l.wrap(in.noAdds)
	}
	if err := batch.Validate(l.next); err != nil {
		return l.wrap(err)
	}
	if tooLarge > 0 {
		return l.wrap(fmt.Errorf("%w: an entry of %d bytes, the limit is %d", sdk.ErrTooLarge, tooLarge, in.maxEntryBytes))
	}
	if size > in.maxPendingBytes {
		return l.wrap(fmt.Errorf("%w: a batch of %d bytes, the limit is %d", sdk.ErrTooLarge, size, in.maxPendingBytes))
	}
	if in.units+len(batch.Entries) > maxPendingUnits && in.units > 0 {
		return l.wrap(fmt.Errorf("%w: %d entries are waiting to be written, the limit is %d", sdk.ErrBusy, in.units, maxPendingUnits))
	}
	if in.bytes+size > in.maxPendingBytes {
		return l.wrap(fmt.Errorf("%w: %d bytes are waiting to be written, the limit is %d", sdk.ErrBusy, in.bytes, in.maxPendingBytes))
	}
	return nil
}

// change takes a change in. An error means that it is refused and that done is
// not called.
func (in *intake) change(c *change) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.noChanges != nil {
		return in.noChanges
	}
	if c.grows && in.noAdds != nil {
		return in.noAdds
	}
	if in.units >= maxPendingUnits {
		return fmt.Errorf("%w: %d entries and changes are waiting to be written", sdk.ErrBusy, in.units)
	}
	in.changes = append(in.changes, c)
	in.queued(1)
	return nil
}

// queued counts and wakes the committer. Call it with the mutex held.
func (in *intake) queued(units int) {
	in.units += units
	if in.wakeAt > 0 && in.units >= in.wakeAt {
		in.signal()
	}
}

// signal must be called with the mutex held.
func (in *intake) signal() {
	in.wakeAt = 0
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// refuse makes all adds to the ledger fail that the committer did not take yet.
// The first reason given stays.
func (in *intake) refuse(l *ledger, why error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.refuseQueue(l, why)
}

// refuseAll refuses all adds to the ledgers.
func (in *intake) refuseAll(ledgers []*ledger, why error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, l := range ledgers {
		in.refuseQueue(l, why)
	}
}

// refuseQueue must be called with the mutex held.
func (in *intake) refuseQueue(l *ledger, why error) {
	if l.refusal == nil {
		l.refusal = l.wrap(why)
	}
	for i := range l.queue {
		if r := &l.queue[i]; r.err == nil {
			in.bytes -= r.bytes
			r.err, r.bytes = l.refusal, 0
		}
	}
}

// stop makes later adds to the ledger fail; those handed over go on.
func (in *intake) stop(l *ledger, why error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if l.refusal == nil {
		l.refusal = l.wrap(why)
	}
}

// whenIdle calls f once no add of the ledger is on its way, perhaps at once.
func (in *intake) whenIdle(l *ledger, f func()) {
	in.mu.Lock()
	if l.outstanding > 0 {
		l.whenIdle = append(l.whenIdle, f)
		in.mu.Unlock()
		return
	}
	in.mu.Unlock()
	f()
}

// setDoor says why adds and changes are refused from now on, nil if they are
// not. It is a no-op once the intake has ended.
func (in *intake) setDoor(noAdds, noChanges error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.ended {
		in.noAdds, in.noChanges = noAdds, noChanges
	}
}

// door returns why adds are refused, or nil.
func (in *intake) door() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.noAdds
}

// end refuses everything from now on and lets the committer end.
func (in *intake) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.noAdds, in.noChanges, in.ended = sdk.ErrClosed, sdk.ErrClosed, true
	in.signal()
}

// kick makes the committer look around.
func (in *intake) kick() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.kicked = true
	in.signal()
}
