package server

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// How long a session waits before it tries again what a topic had no room for.
const (
	busyPause    = time.Millisecond
	busyPauseMax = 50 * time.Millisecond
)

// maxScratch is how many messages a session keeps room for.
const maxScratch = 1024

// appender is a topic, or a named producer of one.
type appender interface {
	AppendAsync(msgs []message.Message, done func(engine.Appended, error)) error
}

// session is one producer on a stream. The stream's mutex guards all fields,
// but for those that open sets once before opening ends.
//
// Batches are handed over in order, by one goroutine at a time: the stream's
// receiver while nothing is parked, else the session's own, which runs as long
// as something is.
type session struct {
	stream   *produceStream
	id       uint32
	target   appender         // set by open
	topic    *engine.Topic    // set by open
	producer *engine.Producer // set by open; nil without a name
	// scratch is where whoever hands over decodes.
	scratch []message.Message

	// pending are the batches that are not told of, in order.
	pending []*produceAdd
	next    uint64 // the lowest sequence that may come
	// parked are batches that wait to be handed over, refused those that the
	// topic had no room for, in order. They go before parked ones again when
	// handed is 0: how many are with the topic.
	parked, refused []*produceAdd
	handed          int
	pause           time.Duration

	opening, opened bool  // opened: is to be told
	running         bool  // the session's goroutine runs
	failed          error // why the session is of no use
	failedTold      bool
	closing, dirty  bool
	released        bool
}

// accept adds a batch and returns whether the caller has to hand it over now.
// Callers hold the mutex.
func (s *session) accept(b *tidemarkv1.ProduceBatch) (add *produceAdd, now bool) {
	add = newProduceAdd(s, b)
	s.pending = append(s.pending, add)
	s.stream.pending++
	s.stream.unanswered += add.size()
	if err := s.rising(add); err != nil {
		add.ended, add.err = true, err
		s.stream.touch(s)
		return add, false
	}
	s.next = add.first + uint64(add.count)
	if s.opening || s.running || len(s.refused) > 0 {
		s.parked = append(s.parked, add)
		return add, false
	}
	s.handed++
	return add, true
}

// rising checks the sequences of a batch. Callers hold the mutex.
func (s *session) rising(add *produceAdd) error {
	switch {
	case add.count == 0:
		return fmt.Errorf("%w: a batch holds at least one message", sdk.ErrInvalid)
	case add.first < s.next:
		return fmt.Errorf("%w: %d after %d; to send again, open a new session", reason.ErrProducerSequence, add.first, s.next-1)
	case add.first+uint64(add.count) < add.first:
		return fmt.Errorf("%w: sequence %d and %d more is too high", sdk.ErrInvalid, add.first, add.count)
	}
	return nil
}

// handOver gives a batch to the topic. Only the goroutine that may hand over
// calls it, without the mutex.
func (s *session) handOver(add *produceAdd) {
	msgs, err := add.decode(s.scratch[:0])
	if err == nil {
		err = s.target.AppendAsync(msgs, add.done) // copies
	}
	clear(msgs)
	if s.scratch = msgs[:0]; cap(msgs) > maxScratch {
		s.scratch = nil
	}
	if err != nil {
		add.done(engine.Appended{}, err)
	}
}

// settle notes how a batch ended. Callers hold the mutex.
func (s *session) settle(add *produceAdd, a engine.Appended, err error) {
	s.handed--
	again := errors.Is(err, sdk.ErrBusy) || len(s.refused) > 0 && errors.Is(err, reason.ErrProducerSequence)
	if again && !s.stream.ended {
		s.refused = append(s.refused, add)
	} else {
		if err == nil {
			s.pause = 0
		}
		add.ended, add.appended, add.err = true, a, err
		s.stream.touch(s)
	}
	s.start()
}

// start lets the session's goroutine run if there is something that it can do.
// Callers hold the mutex.
func (s *session) start() {
	if s.running || s.opening || s.stream.ended {
		return
	}
	if len(s.refused) > 0 {
		if s.handed > 0 {
			return
		}
		// One that was refused at once may have ended before those that were
		// refused later but handed over earlier.
		slices.SortFunc(s.refused, func(a, b *produceAdd) int { return cmp.Compare(a.first, b.first) })
		s.parked = append(s.refused, s.parked...)
		s.refused = nil
		s.pause = min(max(2*s.pause, busyPause), busyPauseMax)
	}
	if len(s.parked) > 0 {
		s.running = true
		go s.run(s.pause) // ends when nothing is parked, a batch is refused, or the stream ends
	}
}

// run hands over what is parked, after a pause.
func (s *session) run(pause time.Duration) {
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-s.stream.ctx.Done():
		}
	}
	for {
		add := s.nextParked()
		if add == nil {
			return
		}
		s.handOver(add)
	}
}

// nextParked returns the next batch to hand over; nil ends the goroutine.
func (s *session) nextParked() *produceAdd {
	s.stream.mu.Lock()
	defer s.stream.mu.Unlock()
	if len(s.parked) == 0 || len(s.refused) > 0 || s.stream.ended {
		s.running = false
		s.start()
		return nil
	}
	add := s.parked[0]
	s.parked[0] = nil
	s.parked = s.parked[1:]
	s.handed++
	return add
}

// release gives up the session's producer. Callers hold the mutex.
func (s *session) release() {
	if s.producer != nil && !s.released {
		s.released = true
		s.producer.Close()
	}
}
