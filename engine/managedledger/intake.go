package managedledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tidemark-engine/tidemark/sdk"
)

// intake is where adds gather until the lane takes them. Everything that is
// taken in and not answered counts against its limits; who does not fit waits
// in line, first come first served.
type intake struct {
	// mu guards all below. It is held for some copies of slice headers, never
	// while anything else happens.
	mu     sync.Mutex
	closed error
	// queue holds what the lane has not taken; the last batch still gathers.
	queue []*batch
	// scheduled says that the lane knows of the queue: a task is on its way, or
	// something that will look at it has yet to end.
	scheduled bool
	// sizeHint is the size of the batch taken last, to make the next one fit.
	sizeHint int

	// failures counts the batches of adds that failed.
	failures uint64

	entries, maxEntries int
	bytes, maxBytes     int64
	line                []*lineAdd
}

// lineAdd is an add that waits until there is room.
type lineAdd struct {
	payloads [][]byte
	bytes    int64
	in       chan struct{} // closed when it was taken in or refused
	place    place
	err      error
}

// place is where an add is: count entries of a batch.
type place struct {
	batch *batch
	from  int
}

// fits says whether that much may be taken in. With mu held.
func (q *intake) fits(entries int, bytes int64) bool {
	return q.entries == 0 ||
		(q.entries+entries <= q.maxEntries && q.bytes+bytes <= q.maxBytes)
}

// put appends an add to the gathering batch. It does not keep the slice, so
// that a caller need not allocate it. With mu held.
func (q *intake) put(payloads [][]byte, bytes int64, done func(AddResult, error)) place {
	var b *batch
	if n := len(q.queue); n > 0 {
		b = q.queue[n-1]
	}
	if b == nil || len(b.payloads)+len(payloads) > maxBatchEntries || b.bytes+bytes > maxBatchBytes {
		b = newBatch(max(len(payloads), q.sizeHint))
		q.queue = append(q.queue, b)
	}
	p := place{b, len(b.payloads)}
	b.payloads = append(b.payloads, payloads...)
	b.bytes += bytes
	if done != nil {
		b.callbacks = append(b.callbacks, callback{p.from, len(payloads), done})
	} else if b.done == nil {
		b.done = make(chan struct{})
	}
	q.entries += len(payloads)
	q.bytes += bytes
	return p
}

// take empties the queue into dst, for the lane.
func (q *intake) take(dst []*batch) []*batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.scheduled = false
	dst = append(dst, q.queue...)
	clear(q.queue)
	q.queue = q.queue[:0]
	if n := len(dst); n > 0 {
		q.sizeHint = len(dst[n-1].payloads)
	}
	return dst
}

// release gives room back and takes in who waits for it, in order. It says
// whether the lane has to be told.
func (q *intake) release(entries int, bytes int64) (tell bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.entries -= entries
	q.bytes -= bytes
	return q.admit()
}

// admit takes in who waits in line and fits. With mu held.
func (q *intake) admit() (tell bool) {
	n := 0
	for ; n < len(q.line) && q.fits(len(q.line[n].payloads), q.line[n].bytes); n++ {
		a := q.line[n]
		a.place = q.put(a.payloads, a.bytes, nil)
		close(a.in)
	}
	if n == 0 {
		return false
	}
	clear(q.line[:n])
	q.line = q.line[n:]
	tell = !q.scheduled
	q.scheduled = true
	return tell
}

// failed counts a batch of adds that failed, before any of them is answered.
func (q *intake) failed() {
	q.mu.Lock()
	q.failures++
	q.mu.Unlock()
}

// limit changes the limits.
func (q *intake) limit(entries int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.maxEntries, q.maxBytes = entries, bytes
	if q.admit() {
		q.scheduled = false // the caller kicks
	}
}

// schedule says whether somebody has to tell the lane of the queue, and counts
// on the caller to do so.
func (q *intake) schedule() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.scheduled || len(q.queue) == 0 {
		return false
	}
	q.scheduled = true
	return true
}

// unschedule takes back that the lane knows of the queue.
func (q *intake) unschedule() {
	q.mu.Lock()
	q.scheduled = false
	q.mu.Unlock()
}

// empty says whether nothing waits to be taken by the lane.
func (q *intake) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue) == 0
}

// pending returns what is taken in and not answered.
func (q *intake) pending() (entries int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.entries, q.bytes
}

// close refuses all further adds with err, and those in line. What is in the
// queue stays for the lane. The first error stays.
func (q *intake) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = err
	}
	for _, a := range q.line {
		a.err = q.closed
		close(a.in)
	}
	q.line = nil
}

// reopen takes adds again, if it was closed with err.
func (q *intake) reopen(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if errors.Is(q.closed, err) {
		q.closed = nil
	}
}

// enter takes an add in, waiting in line if it does not fit yet.
func (q *intake) enter(ctx context.Context, payloads [][]byte, bytes int64) (p place, tell bool, err error) {
	q.mu.Lock()
	if err := q.closed; err != nil {
		q.mu.Unlock()
		return place{}, false, err
	}
	if len(q.line) == 0 && q.fits(len(payloads), bytes) {
		p = q.put(payloads, bytes, nil)
		tell = !q.scheduled
		q.scheduled = true
		q.mu.Unlock()
		return p, tell, nil
	}
	a := &lineAdd{payloads: slices.Clone(payloads), bytes: bytes, in: make(chan struct{})}
	q.line = append(q.line, a)
	q.mu.Unlock()
	select {
	case <-a.in:
	case <-ctx.Done():
		if left, tell := q.leave(a); left {
			return place{}, tell, fmt.Errorf("add waited for room: %w", ctx.Err())
		}
		<-a.in // closed already or this moment
	}
	return a.place, false, a.err
}

// leave takes an add out of the line, if it is still there; those behind it may
// have waited for it only.
func (q *intake) leave(a *lineAdd) (left, tell bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.line, a)
	if i < 0 {
		return false, false
	}
	q.line = slices.Delete(q.line, i, i+1)
	return true, q.admit()
}

// tryEnter takes an add in or says at once that it cannot. With unless, it also
// refuses if adds failed beyond that count.
func (q *intake) tryEnter(payloads [][]byte, bytes int64, unless *uint64, done func(AddResult, error)) (tell bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		return false, q.closed
	}
	if unless != nil && *unless != q.failures {
		return false, ErrEarlierFailed
	}
	if len(q.line) > 0 || !q.fits(len(payloads), bytes) {
		return false, fmt.Errorf("%w: %d entries of %d bytes are not acknowledged yet; try again later",
			sdk.ErrBusy, q.entries, q.bytes)
	}
	q.put(payloads, bytes, done)
	tell = !q.scheduled
	q.scheduled = true
	return tell, nil
}
