package managedledger

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/engine/managedledger/ackset"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// Max is how much one read yields at most.
type Max struct {
	// Entries must be at least 1.
	Entries int
	// Bytes bounds the sum of the payloads; 0 means no bound. The first entry
	// is part of the result whatever its size.
	Bytes int
}

// ReadOptions are the wishes of one read.
type ReadOptions struct {
	// Wait has the read wait until there is something to hand over.
	Wait bool
	// UpTo is the last position that may be handed over; nil means no bound.
	// The caller does not change it while the read is in flight.
	UpTo *sdk.Position
	// Skip leaves out the entries for which it is true, unread. It must be
	// quick and must not call the cursor.
	Skip func(sdk.Position) bool
}

// reader is a place in the log from which reads go on, one at a time. A cursor
// is one, and so is each read without a cursor.
type reader struct {
	m *ManagedLedger
	// label names the reader's lane.
	label string
	// silent leaves callbacks where reads end, whatever the placement is.
	silent bool

	// mu guards all below, what a Cursor adds, and those fields of op that say
	// so. Nothing of a user is called while it is held.
	mu sync.Mutex
	// acks are what is acknowledged; nil for a read without a cursor.
	acks *ackset.Set
	// place is where the next read begins.
	place sdk.Position
	// epoch rises whenever place is moved by anything but a read. A read that
	// finds another epoch than it began with begins again.
	epoch  uint64
	closed error
	// op is the read in flight, nil if there is none; spare is its record, to be
	// used again.
	op, spare *readOp
	// parked says that op waits for the LAC to move, for the parks-th time:
	// whoever takes parked away goes on with it.
	parked bool
	parks  uint64
	// registered says that the reader is among the log's waiters, or that its
	// wake is about to be called.
	registered bool
	// lane is where woken reads go on; made by the first that waits.
	lane  scheduling.Lane
	ahead readAhead

	// nested is how many callbacks are on the stack.
	nested atomic.Int32
}

// begin makes the record of a read, which the caller then starts.
func (r *reader) begin(max Max, o ReadOptions, done func(ReadResult, error)) (*readOp, error) {
	if max.Entries < 1 || max.Bytes < 0 {
		return nil, fmt.Errorf("%w: a read of at most %d entries and %d bytes", sdk.ErrInvalid, max.Entries, max.Bytes)
	}
	r.m.cursors.touch()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed != nil {
		return nil, r.closed
	}
	if r.op != nil {
		return nil, reason.ErrReadInFlight
	}
	op := r.spare
	if op == nil {
		op = newReadOp(r)
	}
	r.op, r.spare = op, nil
	op.config, op.max, op.options, op.done = r.m.config(), max, o, done
	op.restart()
	return op, nil
}

// readAsync starts a read that ends with a call of done.
func (r *reader) readAsync(max Max, o ReadOptions, done func(ReadResult, error)) error {
	op, err := r.begin(max, o, done)
	if err != nil {
		return err
	}
	op.mayBlock = false
	op.proceed()
	return nil
}

// readHere reads on the calling goroutine, as far as the submission strategy
// leaves it there, and waits for the end.
func (r *reader) readHere(ctx context.Context, max Max, o ReadOptions) (ReadResult, error) {
	if err := ctx.Err(); err != nil {
		return ReadResult{}, err
	}
	op, err := r.begin(max, o, nil)
	if err != nil {
		return ReadResult{}, err
	}
	op.ctx, op.mayBlock = ctx, true
	op.proceed()
	for {
		select {
		case <-op.signal:
			if result, err, ended := r.collect(op); ended {
				return result, err
			}
		case <-ctx.Done():
			if r.abandon(op) {
				return ReadResult{}, ctx.Err()
			}
		}
	}
}

// collect takes the end of a read that was waited for. If it has only been
// woken, it goes on here.
func (r *reader) collect(op *readOp) (ReadResult, error, bool) {
	r.mu.Lock()
	if op.ended {
		result, err := op.result, op.failure
		if !op.abandoned { // else somebody may still be at it
			op.forget()
			r.spare = op
		}
		r.mu.Unlock()
		return result, err, true
	}
	woken := r.parked && r.op == op
	if woken {
		r.parked = false
		op.restart()
	}
	r.mu.Unlock()
	if woken {
		op.mayBlock = true
		op.proceed()
	}
	return ReadResult{}, nil, false
}

// abandon gives up a read that somebody waits for; false if it has ended
// already. What still comes of it finds itself abandoned.
func (r *reader) abandon(op *readOp) bool {
	r.mu.Lock()
	if op.ended {
		r.mu.Unlock()
		return false
	}
	cancel := r.detach()
	r.mu.Unlock()
	call(cancel)
	return true
}

// detach takes the read in flight off the reader, and returns what ends its
// storage read. Called with mu.
func (r *reader) detach() (cancel func()) {
	if op := r.op; op != nil {
		op.abandoned = true
		cancel = op.cancel
		r.op = nil
	}
	r.parked = false
	r.unregister()
	return cancel
}

// end closes the reader: its read ends with err, here and now, and later ones
// are refused with err.
func (r *reader) end(err error) {
	r.mu.Lock()
	if r.closed != nil {
		r.mu.Unlock()
		return
	}
	r.closed = err
	op, lane := r.op, r.lane
	cancel := r.detach()
	if op != nil && op.done == nil {
		op.ended, op.failure = true, err
	}
	r.mu.Unlock()
	call(cancel)
	if lane != nil {
		// Nothing that is queued there finds anything to do.
		_ = lane.Close(gone())
	}
	switch {
	case op == nil:
	case op.done == nil:
		op.tell()
	default:
		op.done(ReadResult{}, err)
	}
}

// gone returns a context that has ended: for closing without waiting.
func gone() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// next returns the first position at or behind p that is to be read: an entry
// that is not acknowledged is or will be there. lost says that such entries
// were trimmed on the way. Called with mu.
func (r *reader) next(v *view, p sdk.Position) (at sdk.Position, lost bool) {
	if r.acks != nil {
		if behind := r.acks.MarkDelete().Next(); behind.After(p) {
			p = behind
		}
		p = r.acks.NextUnacked(p)
	}
	if lost = v.trimmed != notTrimmed && !p.After(v.trimmed); lost {
		p = v.trimmed.Next()
	}
	for {
		at, _ = v.start(p)
		if r.acks == nil {
			return at, lost
		}
		if p = r.acks.NextUnacked(at); p == at {
			return at, lost
		}
	}
}

// moved is called after place was moved, with mu held; the func it returns is
// called without. A read in flight begins again at the new place.
func (r *reader) moved() (after func()) {
	r.epoch++
	r.ahead = readAhead{}
	op := r.op
	if op == nil {
		return func() {}
	}
	cancel := op.cancel
	return func() {
		call(cancel)
		r.mu.Lock()
		r.rouse()
	}
}
