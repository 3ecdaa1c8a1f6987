package entrycache

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// ReadRequest is a read of one ledger through the cache.
type ReadRequest struct {
	// Reader is the handle that a storage read goes to.
	Reader sdk.LedgerReader
	// Range is what is wanted. The caller takes care that it does not reach
	// beyond what may be read.
	Range sdk.Range
	// Keep puts what was read from storage in the cache.
	Keep bool
	// EstimatedBytes is what the read will probably yield, for the limit on
	// bytes in flight; 0 means that the caller has no idea.
	EstimatedBytes int64
}

// defaultEntryBytes is the guess for an entry of unknown size.
const defaultEntryBytes = 10 << 10

// estimate returns the bytes that a storage read of the request counts for.
func (r *ReadRequest) estimate() int64 {
	if r.EstimatedBytes > 0 {
		return r.EstimatedBytes
	}
	count := int64(r.Range.Last-r.Range.First) + 1
	if bytes := count * defaultEntryBytes; bytes/defaultEntryBytes == count {
		if most := int64(r.Range.MaxBytes); most > 0 {
			return min(bytes, most)
		}
		return bytes
	}
	return int64(max(r.Range.MaxBytes, 0))
}

// reader is one caller of Read that waits for a flight. Whoever takes it out of
// flight.readers answers it; so it is answered once.
type reader struct {
	ctx     context.Context
	request ReadRequest
	start   func(scheduling.Task) error
	done    func([][]byte, error)
	// forget ends the watch on ctx; nil if ctx never ends.
	forget func() bool
	// flight is what it waits for, and left says that its context ended. Both
	// are guarded by the shard's lock.
	flight *flight
	left   bool
}

// Read yields the entries of the request's range, or a shorter run from its
// start with at least one entry, whatever can be had soonest; the caller reads
// on from there. done is called exactly once, possibly before Read returns, on
// the goroutine of the caller, of the storage read's completion, or on one of
// the executor's. The slice of payloads is shared: nobody changes it.
//
// If the cache has the first entry, what it has is the answer. Otherwise a
// storage read is started through start, for the entries up to the next one
// that the cache has; or, if a storage read in flight covers the first entry
// and at least half of the range, this read waits for that one. start gets the
// task that calls Reader.Read; it is called by Read itself or, if the read had
// to wait for room, on a goroutine of the executor that may block. Its error
// fails the read.
//
// A storage read ends early only when the contexts of all who wait for it have
// ended; each of them gets the error of its own context at once. Other errors
// reach all who wait. [sdk.ErrBusy] if too many reads wait for room, or the
// scheduler takes no more tasks.
func (c *Cache) Read(ctx context.Context, request ReadRequest, start func(scheduling.Task) error, done func(payloads [][]byte, err error)) {
	if r := request.Range; r.First < 0 || r.Last < r.First || r.MaxBytes < 0 {
		done(nil, fmt.Errorf("read of entries %d to %d, at most %d bytes: %w", r.First, r.Last, r.MaxBytes, sdk.ErrInvalid))
		return
	}
	if err := ctx.Err(); err != nil {
		done(nil, err)
		return
	}
	r := &reader{ctx: ctx, request: request, start: start, done: done}
	if ctx.Done() != nil {
		r.forget = context.AfterFunc(ctx, r.leave(c))
	}
	c.find(r, true)
}

// find answers r from the cache, or has it wait for a flight: one under way if
// it may share, else a new one.
func (c *Cache) find(r *reader, share bool) {
	id, want := r.request.Reader.ID(), r.request.Range
	s := c.shard(id)
	var room [16][][]byte
	s.mu.Lock()
	if r.left {
		s.mu.Unlock()
		r.end(nil, r.ctx.Err())
		return
	}
	if pieces := s.collect(room[:0], id, want.First, want.Last, want.MaxBytes); len(pieces) > 0 {
		s.hits++
		s.mu.Unlock()
		r.end(join(pieces, want.MaxBytes), nil)
		return
	}
	s.misses++
	if share && s.attach(id, r) {
		s.mu.Unlock()
		return
	}
	f := s.newFlight(id, r)
	s.mu.Unlock()
	admitted, err := c.limiter.enter(f)
	if err != nil {
		f.finish(nil, err)
	} else if admitted {
		f.submit()
	}
}

// attach has r wait for a flight under way, if there is one that is worth it.
func (s *shard) attach(id sdk.LedgerID, r *reader) bool {
	want := r.request.Range
	for _, f := range s.flights[id] {
		if f.what.First <= want.First && f.what.Last >= want.First+(want.Last-want.First)/2 {
			f.readers = append(f.readers, r)
			f.keep = f.keep || r.request.Keep
			r.flight = f
			s.merged++
			return true
		}
	}
	return false
}

// leave returns what ends r when its context has ended.
func (r *reader) leave(c *Cache) func() {
	return func() {
		s := c.shard(r.request.Reader.ID())
		s.mu.Lock()
		r.left = true // whoever is about to find a flight for r looks
		f := r.flight
		mine := f != nil && f.take(r)
		abandoned := mine && len(f.readers) == 0
		if abandoned {
			s.removeFlight(f)
		}
		s.mu.Unlock()
		if abandoned {
			f.abandon()
		}
		if mine {
			r.end(nil, r.ctx.Err())
		}
	}
}

// end answers r.
func (r *reader) end(payloads [][]byte, err error) {
	if r.forget != nil {
		r.forget()
	}
	r.done(payloads, err)
}

// retry gets r a flight of its own, on another goroutine: this one completes
// somebody else's read.
func (c *Cache) retry(r *reader) {
	if err := c.executor.Go(scheduling.TaskFunc(func() { c.find(r, false) })); err != nil {
		r.end(nil, refused(err))
	}
}

// refused puts what a lane or executor says that took no task into the words
// that callers of a store know; other errors stay as they are.
func refused(err error) error {
	switch {
	case errors.Is(err, scheduling.ErrFull):
		return fmt.Errorf("%w: %w", sdk.ErrBusy, err)
	case errors.Is(err, scheduling.ErrClosed):
		return fmt.Errorf("%w: %w", sdk.ErrClosed, err)
	}
	return err
}
