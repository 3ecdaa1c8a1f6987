package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// producerRecord is what a topic knows of one named producer. Its appends go
// through a queue that one goroutine at a time works off, whichever comes, so
// that they are looked at, handed to the log and answered in one order, and no
// lock is held while the log or a user's callback runs.
type producerRecord struct {
	name string
	set  *producers
	used atomic.Uint64 // the set's count at the last use, to forget the oldest

	mu       sync.Mutex // guards all below, for a few assignments at a time
	queue    []*producerAdd
	spare    []*producerAdd // backing for the next queue
	draining bool           // a goroutine works the queue off
	// pending are the appends that are with the log, in its order.
	pending []*producerAdd
	// session is the number of the newest session, and open says that it is
	// not closed.
	session uint64
	open    bool
	// stored is the highest stored sequence; known is false if there is none.
	stored uint64
	known  bool
	// owed are the first sequences of appends that were refused or failed in
	// this session, rising: each has to come again before later ones.
	owed []uint64
	// lost says that there were more of them than owed takes, so that only a
	// new session can go on behind the last one.
	lost bool
	// failures is the log's count of failures when the first of pending was
	// handed over: should one fail, none behind it may be stored.
	failures uint64
}

// producerAdd is one append of a named producer.
type producerAdd struct {
	producer *Producer
	payloads [][]byte
	// first and last are the sequences of the first and last message; those in
	// between are in sequences, unless they have no gap.
	first, last uint64
	sequences   []uint64
	done        func(Appended, error)
	// duplicates is how many messages, the first ones, are stored or pending
	// already.
	duplicates int
	// followers hold nothing new, and wait for the end of this one.
	followers []*producerAdd
}

func newProducerAdd(p *Producer, msgs []message.Message, payloads [][]byte, done func(Appended, error)) *producerAdd {
	n := len(msgs)
	a := &producerAdd{producer: p, payloads: payloads, first: msgs[0].Sequence, last: msgs[n-1].Sequence, done: done}
	if a.last-a.first != uint64(n-1) {
		a.sequences = make([]uint64, n)
		for i := range msgs {
			a.sequences[i] = msgs[i].Sequence
		}
	}
	return a
}

// sequence returns that of the i-th message.
func (a *producerAdd) sequence(i int) uint64 {
	if a.sequences == nil {
		return a.first + uint64(i)
	}
	return a.sequences[i]
}

// upTo returns how many of the messages have a sequence of at most limit.
func (a *producerAdd) upTo(limit uint64) int {
	switch {
	case limit < a.first:
		return 0
	case limit >= a.last:
		return len(a.payloads)
	case a.sequences == nil:
		return int(limit-a.first) + 1
	}
	n, found := slices.BinarySearch(a.sequences, limit)
	if found {
		n++
	}
	return n
}

// lastStored returns the highest stored sequence.
func (r *producerRecord) lastStored() (uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored, r.known
}

// enter begins a session and returns its number.
func (r *producerRecord) enter() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session++
	r.open, r.owed, r.lost = true, nil, false
	return r.session
}

// leave ends a session, if it is the newest one.
func (r *producerRecord) leave(session uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session == session {
		r.open = false
	}
}

// idle says whether nobody would notice if the record was forgotten, but by a
// repetition.
func (r *producerRecord) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.open && len(r.pending) == 0 && len(r.queue) == 0 && !r.draining
}

// take queues an append and works the queue off, unless somebody else does.
func (r *producerRecord) take(a *producerAdd) {
	r.used.Store(r.set.clock.Add(1))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, a)
	if r.draining {
		return
	}
	r.draining = true
	for len(r.queue) > 0 {
		work := r.queue
		r.queue, r.spare = r.spare[:0], nil
		for i, next := range work {
			work[i] = nil
			what, number := r.admit(next)
			r.mu.Unlock()
			r.carryOut(next, what, number)
			r.mu.Lock()
		}
		r.spare = work
	}
	r.draining = false
}

// verdict is what is to be done about an append.
type verdict uint8

const (
	storeIt     verdict = iota // hand the new messages to the log
	awaitIt                    // nothing: a pending append has it among its followers
	isDuplicate                // all of it is stored already
	isReplaced                 // the session is over
	isTooEarly                 // one before it failed and did not come again
	isInDoubt                  // nobody knows what is stored
)

// admit decides about an append. The number is the log's count of failures that
// must not have changed, or the sequence that has to come first. It is called
// with mu held.
func (r *producerRecord) admit(a *producerAdd) (what verdict, number uint64) {
	if a.producer.session != r.session {
		return isReplaced, 0
	}
	if r.known && a.last <= r.stored {
		return isDuplicate, 0
	}
	if holder := r.holder(a.last); holder != nil {
		holder.followers = append(holder.followers, a)
		return awaitIt, 0
	}
	if r.known {
		a.duplicates = a.upTo(r.stored)
	}
	for _, p := range r.pending {
		a.duplicates = max(a.duplicates, a.upTo(p.last))
	}
	fresh := a.sequence(a.duplicates)
	if r.known {
		r.settleUpTo(r.stored)
	}
	if first, early := r.early(fresh); early {
		r.owe(fresh)
		return isTooEarly, first
	}
	if r.set.doubt.Load() {
		r.owe(fresh)
		return isInDoubt, 0
	}
	r.settleUpTo(a.last)
	if len(r.pending) == 0 {
		r.failures = r.set.log.Failures()
	}
	r.pending = append(r.pending, a)
	r.set.inFlight.Add(1)
	return storeIt, r.failures
}

// carryOut does what was decided about an append.
func (r *producerRecord) carryOut(a *producerAdd, what verdict, number uint64) {
	switch what {
	case storeIt:
		r.handOver(a, number)
	case isDuplicate:
		r.answer(a, Appended{Duplicates: len(a.payloads)}, nil)
	case isReplaced:
		r.answer(a, Appended{}, ErrProducerReplaced)
	case isTooEarly:
		r.answer(a, Appended{}, fmt.Errorf("%w: %d was not stored, send it again before %d", ErrProducerSequence, number, a.last))
	case isInDoubt:
		r.set.doubted()
		r.answer(a, Appended{}, fmt.Errorf("%w: finding out what was stored when the store failed, try again", sdk.ErrUnavailable))
	}
}

// maxOwed bounds what a session can owe one by one.
const maxOwed = 1024

// owe records that the append beginning with that sequence was not stored, so
// that it has to come again before later ones. It is called with mu held.
func (r *producerRecord) owe(sequence uint64) {
	i, found := slices.BinarySearch(r.owed, sequence)
	if found {
		return
	}
	r.owed = slices.Insert(r.owed, i, sequence)
	if len(r.owed) > maxOwed {
		r.owed, r.lost = r.owed[:maxOwed], true
	}
}

// early says whether something is owed before sequence, and what comes first.
// It is called with mu held.
func (r *producerRecord) early(sequence uint64) (first uint64, early bool) {
	if len(r.owed) == 0 {
		return sequence, r.lost
	}
	return r.owed[0], sequence > r.owed[0]
}

// settleUpTo notes that what was owed up to a sequence came again. It is called
// with mu held.
func (r *producerRecord) settleUpTo(sequence uint64) {
	n := 0
	for n < len(r.owed) && r.owed[n] <= sequence {
		n++
	}
	r.owed = slices.Delete(r.owed, 0, n)
}

// holder returns the pending append whose success means that everything up to
// sequence is stored, or nil. It is called with mu held.
func (r *producerRecord) holder(sequence uint64) *producerAdd {
	for i := len(r.pending) - 1; i >= 0; i-- {
		if p := r.pending[i]; p.first <= sequence && sequence <= p.last {
			return p
		}
	}
	for _, p := range r.pending {
		if p.last >= sequence {
			return p
		}
	}
	return nil
}

// handOver gives the new messages of an append to the log, if none of its adds
// failed since those that are pending were handed over.
func (r *producerRecord) handOver(a *producerAdd, failures uint64) {
	err := r.set.log.add(failures, a.payloads[a.duplicates:], func(result managedledger.AddResult, stored int, err error) {
		r.end(a, result, stored, err)
	})
	if err != nil {
		r.end(a, managedledger.AddResult{}, 0, err)
	}
}

// end takes the log's answer to an append: how many of its new messages were
// stored, and why not all.
func (r *producerRecord) end(a *producerAdd, result managedledger.AddResult, stored int, err error) {
	r.mu.Lock()
	if i := slices.Index(r.pending, a); i >= 0 {
		r.pending = slices.Delete(r.pending, i, i+1)
	}
	if stored > 0 {
		r.stored, r.known = max(r.stored, a.sequence(a.duplicates+stored-1)), true
	}
	if err != nil {
		r.owe(a.sequence(min(a.duplicates+stored, len(a.payloads)-1)))
		if errors.Is(err, sdk.ErrUnknownOutcome) {
			r.set.doubt.Store(true)
		}
	}
	followers := a.followers
	r.mu.Unlock()
	r.set.ended(result, stored)

	r.answer(a, Appended{AddResult: result, Duplicates: a.duplicates}, err)
	for _, f := range followers {
		if err != nil {
			r.answer(f, Appended{}, err)
		} else {
			r.answer(f, Appended{Duplicates: len(f.payloads)}, nil)
		}
	}
}

// answer tells the user the end of an append. A callback that panics is
// reported and keeps nobody else from theirs.
func (r *producerRecord) answer(a *producerAdd, result Appended, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.set.logger.Error("callback of an append panicked", "producer", r.name, "panic", p)
		}
	}()
	if result.Duplicates > 0 {
		r.set.duplicates.Add(int64(result.Duplicates))
	}
	a.done(result, a.producer.fail(err))
}
