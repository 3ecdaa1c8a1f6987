package server

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// open finds the topic and the producer, and then lets what waited go.
func (s *session) open(topic, producer string) {
	t, err := s.stream.server.engine.Topic(s.stream.ctx, topic)
	var p *engine.Producer
	if err == nil && producer != "" {
		p, err = t.Producer(s.stream.ctx, producer)
	}
	s.stream.mu.Lock()
	defer s.stream.mu.Unlock()
	s.opening = false
	s.stream.pending--
	s.topic, s.producer, s.target = t, p, t
	if p != nil {
		s.target = p
	}
	if err != nil {
		s.fail(err)
		return
	}
	if s.stream.ended {
		s.release()
		return
	}
	s.opened = true
	s.stream.touch(s)
	s.start()
}

// fail ends a session that could not be opened: what waits in it fails with it.
// Callers hold the mutex.
func (s *session) fail(err error) {
	s.failed, s.closing = err, true
	for _, add := range s.pending {
		s.stream.answered(add)
	}
	s.pending, s.parked = nil, nil
	s.stream.touch(s)
}

// answered takes a batch off the books of the stream. Callers hold the mutex.
func (p *produceStream) answered(add *produceAdd) {
	p.pending--
	p.unanswered -= add.size()
}

// tell adds to a frame what the session has to say. Callers hold the mutex.
func (s *session) tell(frame *tidemarkv1.ProduceResponse) {
	if s.failed != nil && !s.failedTold {
		s.failedTold = true
		frame.Failures = append(frame.Failures, sessionFailure(s.id, s.failed))
		return
	}
	if s.opened {
		s.opened = false
		frame.Opened = append(frame.Opened, s.introduction())
	}
	ended := 0
	for ended < len(s.pending) && s.pending[ended].ended {
		ended++
	}
	if ended == 0 {
		return
	}
	ack := &tidemarkv1.ProduceAcknowledgement{Session: s.id}
	for i, add := range s.pending[:ended] {
		add.tell(frame, ack)
		s.stream.answered(add)
		s.stream.server.meters.produced(add)
		s.pending[i] = nil
	}
	if s.pending = s.pending[ended:]; len(s.pending) == 0 {
		s.pending = nil
	}
	frame.Acknowledgements = append(frame.Acknowledgements, ack)
}

// introduction answers the open. Callers hold the mutex.
func (s *session) introduction() *tidemarkv1.ProduceOpened {
	stamp := message.Message{PublishTime: time.Unix(1, 1)} // what the server adds to a message
	if s.producer != nil {
		stamp.Producer, stamp.Sequence = s.producer.Name(), math.MaxUint64
	}
	o := &tidemarkv1.ProduceOpened{
		Session:       s.id,
		MaxEntryBytes: uint64(max(0, min(s.stream.server.maxEntryBytes(), s.topic.MaxEntryBytes()-stamp.Size()))),
		MaxFrameBytes: uint64(s.stream.server.options.MaxMessageBytes),
	}
	if s.producer != nil {
		if last, any := s.producer.LastSequence(); any {
			o.LastSequence = &last
		}
	}
	return o
}

// maxEntryBytes is the largest entry that can be produced and read back, as far
// as the server is concerned.
func (s *Server) maxEntryBytes() int { return s.options.MaxMessageBytes - wire.FrameSlack }

func tooLarge(size, limit int) error {
	return fmt.Errorf("%w: an entry of %d bytes, this server takes at most %d", sdk.ErrTooLarge, size, limit)
}

// invalid makes a malformed message an invalid argument.
func invalid(err error) error {
	if errors.Is(err, message.ErrMalformed) {
		return fmt.Errorf("%w: %w", sdk.ErrInvalid, err)
	}
	return err
}
