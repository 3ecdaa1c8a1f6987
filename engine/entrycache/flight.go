package entrycache

import (
	"container/list"
	"context"
	"errors"
	"slices"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// flight is one storage read, waiting for room or under way, and those who
// wait for it. As a task it is the start of the storage read.
type flight struct {
	shard  *shard
	ctx    context.Context
	cancel context.CancelFunc // nil if the first reader's context never ends
	handle sdk.LedgerReader
	start  func(scheduling.Task) error
	what   sdk.Range
	bytes  int64

	// Guarded by the shard's lock.
	readers []*reader
	keep    bool
	ended   bool

	// Guarded by the limiter's lock: its place in the queue, and whether it
	// counts as in flight.
	place    *list.Element
	admitted bool
}

// newFlight makes a flight for r and enters it in the shard's table.
func (s *shard) newFlight(id sdk.LedgerID, r *reader) *flight {
	f := &flight{shard: s, handle: r.request.Reader, start: r.start, what: r.request.Range}
	f.what.Last = s.nextCached(id, f.what.First, f.what.Last) - 1
	f.bytes = r.request.estimate()
	f.readers = []*reader{r}
	f.keep = r.request.Keep
	// The storage read outlives the first reader if others wait for it too.
	f.ctx = r.ctx
	if r.forget != nil {
		f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(r.ctx))
	}
	r.flight = f
	s.flights[id] = append(s.flights[id], f)
	return f
}

// take removes r from those who wait and reports whether it was there.
func (f *flight) take(r *reader) bool {
	i := slices.Index(f.readers, r)
	if i < 0 {
		return false
	}
	f.readers = slices.Delete(f.readers, i, i+1)
	return true
}

// removeFlight takes f out of the table, so that nobody attaches any more.
func (s *shard) removeFlight(f *flight) {
	id := f.handle.ID()
	rest := slices.DeleteFunc(s.flights[id], func(g *flight) bool { return g == f })
	if len(rest) == 0 {
		delete(s.flights, id)
	} else {
		s.flights[id] = rest
	}
}

// errPanicked ends a flight whose start panicked; the panic itself goes on.
var errPanicked = errors.New("entry cache: the start of a storage read panicked")

// submit hands the start of the storage read over.
func (f *flight) submit() {
	err := errPanicked
	defer func() {
		if err != nil {
			f.finish(nil, err)
		}
	}()
	err = refused(f.start(f))
}

// Run starts the storage read.
func (f *flight) Run() {
	if err := f.ctx.Err(); err != nil {
		f.finish(nil, err)
		return
	}
	f.handle.Read(f.ctx, f.what, f.finish)
}

// Failed ends the read when its start panicked, or no task was taken for it
// when its turn came.
func (f *flight) Failed(err error) { f.finish(nil, refused(err)) }

// abandon ends a flight for which nobody waits any more. If the storage read is
// under way, its bytes count until it has really ended.
func (f *flight) abandon() {
	f.shard.cache.limiter.withdraw(f)
	f.cancel()
}

// finish is told the end of the storage read. What it kept is in the cache
// before the flight leaves the table, so that nobody finds neither.
func (f *flight) finish(payloads [][]byte, err error) {
	s, c := f.shard, f.shard.cache
	if most := int(f.what.Last-f.what.First) + 1; len(payloads) > most {
		payloads = payloads[:most:most]
	}
	s.mu.Lock()
	if f.ended { // a store that answers twice
		s.mu.Unlock()
		return
	}
	f.ended = true
	keep := err == nil && f.keep
	s.mu.Unlock()
	if keep {
		c.Add(f.handle.ID(), f.what.First, payloads)
	}
	s.mu.Lock()
	readers := f.readers
	f.readers = nil
	s.removeFlight(f)
	s.mu.Unlock()
	if f.cancel != nil {
		f.cancel()
	}
	c.limiter.leave(f)
	f.answer(readers, payloads, err)
}

// answer ends the readers, in the order in which they came, also if one of the
// callbacks panics.
func (f *flight) answer(readers []*reader, payloads [][]byte, err error) {
	if len(readers) == 0 {
		return
	}
	defer f.answer(readers[1:], payloads, err)
	r := readers[0]
	skip := int64(r.request.Range.First - f.what.First)
	switch {
	case err == nil && (skip < int64(len(payloads)) || skip == 0):
		n := min(int64(len(payloads)), skip+int64(r.request.Range.Last-r.request.Range.First)+1)
		r.end(cut(payloads[skip:n:n], r.request.Range.MaxBytes), nil)
	case err == nil, errors.Is(err, sdk.ErrEntryNotFound) && r.request.Range.Last < f.what.Last:
		// The answer, or the failure, was about other entries than r wants.
		f.shard.cache.retry(r)
	default:
		r.end(nil, err)
	}
}
