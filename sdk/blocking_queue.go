package sdk

import (
	"errors"
	"fmt"
)

// The limits of the adds that a [Blocking] joins for one call of its store, in
// bytes, and keeps waiting for one ledger, in bytes and, as entries may be
// empty, in batches.
const (
	blockingJoin    = 1 << 20
	blockingPending = 64 << 20
	blockingBatches = 1 << 16
)

// blockingRequest is a batch on its way. err says that it must fail, and why.
type blockingRequest struct {
	batch Batch
	bytes int
	err   error
}

// add takes a batch in. An error means that it is refused and that its Done is
// for the caller to call.
func (l *blockingLedger) add(batch Batch) error {
	size := batch.Bytes()
	tooLarge := l.tooLarge(batch)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusal == nil {
		l.refusal = l.refuses(batch, size, tooLarge)
	}
	r := blockingRequest{batch: batch, bytes: size, err: l.refusal}
	if r.err != nil {
		r.batch.Entries, r.bytes = nil, 0
		if !l.running {
			return r.err
		}
	}
	l.queue = append(l.queue, r)
	l.bytes += r.bytes
	l.next += EntryID(len(r.batch.Entries))
	if !l.running {
		l.running = true
		l.owner.busy.Add(1)
		go l.drain()
	}
	return nil
}

func (l *blockingLedger) tooLarge(batch Batch) error {
	limit := l.owner.info.MaxEntryBytes
	if limit == 0 {
		return nil
	}
	for _, entry := range batch.Entries {
		if len(entry) > limit {
			return fmt.Errorf("%w: an entry of %d bytes, the limit is %d", ErrTooLarge, len(entry), limit)
		}
	}
	return nil
}

// refuses says why the batch is not taken. Call it with the mutex held.
func (l *blockingLedger) refuses(batch Batch, size int, tooLarge error) error {
	if err := batch.Validate(l.next); err != nil {
		return l.wrap(err)
	}
	if tooLarge != nil {
		return l.wrap(tooLarge)
	}
	if l.bytes+size > blockingPending && len(l.queue) > 0 || len(l.queue) >= blockingBatches {
		return l.wrap(fmt.Errorf("%w: %d batches of %d bytes are waiting, the limits are %d and %d",
			ErrBusy, len(l.queue), l.bytes, blockingBatches, blockingPending))
	}
	return nil
}

// drain stores what is queued, until nothing is.
func (l *blockingLedger) drain() {
	defer l.owner.busy.Done()
	for {
		l.mu.Lock()
		taken := l.take()
		if len(taken) == 0 {
			idle := l.whenIdle
			l.running, l.whenIdle, l.queue = false, nil, nil
			l.mu.Unlock()
			for _, f := range idle {
				f()
			}
			return
		}
		l.mu.Unlock()
		l.store(taken)
	}
}

// take removes the requests that are handled next: as many as may be joined, or
// those that fail. Call it with the mutex held.
func (l *blockingLedger) take() []blockingRequest {
	count, size := 0, 0
	for count < len(l.queue) && (size < blockingJoin || count == 0) {
		if l.queue[count].err != nil && count > 0 && l.queue[0].err == nil {
			break
		}
		size += l.queue[count].bytes
		count++
	}
	taken := l.queue[:count:count]
	l.queue = l.queue[count:]
	l.bytes -= size
	return taken
}

// store stores requests with one call and tells their end.
func (l *blockingLedger) store(taken []blockingRequest) {
	err := taken[0].err
	if err == nil {
		if err = l.append(taken); err != nil {
			l.refuse(laterFailure(err))
		}
	}
	for i := range taken {
		r := &taken[i]
		switch {
		case r.err != nil:
			r.batch.Done(r.batch.First-1, r.err)
		case err != nil:
			r.batch.Done(r.batch.First-1, err)
		default:
			r.batch.Done(r.batch.Last(), nil)
		}
	}
}

func (l *blockingLedger) append(taken []blockingRequest) error {
	entries, size := taken[0].batch.Entries, 0
	if len(taken) > 1 {
		entries = append([][]byte{}, entries...)
	}
	for i := range taken {
		size += taken[i].bytes
		if i > 0 {
			entries = append(entries, taken[i].batch.Entries...)
		}
	}
	panicked := true
	err := guarded(func() error {
		err := l.owner.store.Append(l.id, taken[0].batch.First, entries)
		panicked = false
		return err
	})
	if err != nil {
		return l.wrap(outcomeOf(err, panicked))
	}
	before := l.state.Load()
	l.publish(LedgerState{
		LastConfirmed: before.LastConfirmed + EntryID(len(entries)),
		Bytes:         before.Bytes + int64(size),
	})
	return nil
}

// outcomeOf makes an unknown outcome of an error that does not say that nothing
// was stored.
func outcomeOf(err error, panicked bool) error {
	if !panicked {
		for _, nothingStored := range []error{ErrFull, ErrTooLarge, ErrBusy, ErrUnavailable, ErrLedgerNotFound, ErrUnknownOutcome} {
			if errors.Is(err, nothingStored) {
				return err
			}
		}
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

// laterFailure is what adds fail with that come behind one that failed with err
// and were never given to the store.
func laterFailure(err error) error {
	if errors.Is(err, ErrUnknownOutcome) {
		return fmt.Errorf("%w: nothing was stored, because an add before it failed: %v", ErrUnavailable, err)
	}
	return err
}

// refuse makes all adds fail that are not with the store yet. The first reason
// given stays.
func (l *blockingLedger) refuse(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusal == nil {
		l.refusal = why
	}
	for i := range l.queue {
		if r := &l.queue[i]; r.err == nil {
			l.bytes -= r.bytes
			r.err, r.bytes = l.refusal, 0
		}
	}
}

// stop makes later adds fail; those handed over go on.
func (l *blockingLedger) stop(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusal == nil {
		l.refusal = l.wrap(why)
	}
}
