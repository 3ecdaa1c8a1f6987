package server

import (
	"context"
	"fmt"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// Append stores one or a few messages and answers when they are durable.
func (s *produceService) Append(ctx context.Context, r *tidemarkv1.AppendRequest) (*tidemarkv1.AppendResponse, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	msgs, err := s.server.messages(r)
	if err != nil {
		return nil, err
	}
	appended, err := appendAs(ctx, topic, r.GetProducer(), msgs)
	if err != nil {
		return nil, err
	}
	s.server.meters.appended(msgs, appended)
	answer := &tidemarkv1.AppendResponse{Duplicates: uint32(appended.Duplicates)}
	if appended.Duplicates < len(msgs) {
		answer.First, answer.Last = position(appended.First()), position(appended.Last())
	}
	return answer, nil
}

// appendAs appends as a named producer, or without a name.
func appendAs(ctx context.Context, topic *engine.Topic, producer string, msgs []message.Message) (engine.Appended, error) {
	if producer == "" {
		return topic.Append(ctx, msgs...)
	}
	p, err := topic.Producer(ctx, producer)
	if err != nil {
		return engine.Appended{}, err
	}
	defer p.Close()
	return p.Append(ctx, msgs...)
}

// messages takes the messages out of a request.
func (s *Server) messages(r *tidemarkv1.AppendRequest) ([]message.Message, error) {
	switch {
	case len(r.GetMessages()) == 0:
		return nil, fmt.Errorf("%w: no messages", sdk.ErrInvalid)
	case r.GetProducer() == "" && r.GetFirstSequence() != 0:
		return nil, fmt.Errorf("%w: a sequence needs the name of a producer", sdk.ErrInvalid)
	}
	msgs := make([]message.Message, len(r.GetMessages()))
	for i, m := range r.GetMessages() {
		msgs[i] = message.Message{
			Payload: m.GetPayload(), Key: m.GetKey(), Attributes: m.GetAttributes(),
			Sequence: r.GetFirstSequence() + uint64(i),
		}
		if size, limit := msgs[i].Size(), s.maxEntryBytes(); size > limit {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(msgs), tooLarge(size, limit))
		}
	}
	return msgs, nil
}
