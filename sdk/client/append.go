package client

import (
	"context"
	"strings"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// Append publishes a few messages with one call and returns the position of the
// last one when they are durable: a convenience for who has no producer. It
// tries once; an [sdk.ErrUnavailable] or [sdk.ErrUnknownOutcome] may mean that
// they are stored.
func (c *Client) Append(ctx context.Context, topic string, msgs ...message.Message) (sdk.Position, error) {
	request := &tidemarkv1.AppendRequest{Topic: topic, Messages: make([]*tidemarkv1.Message, len(msgs))}
	for i := range msgs {
		request.Messages[i] = &tidemarkv1.Message{Payload: msgs[i].Payload, Key: msgs[i].Key, Attributes: valid(msgs[i].Attributes)}
	}
	answer, err := c.produce.Append(ctx, request)
	if err != nil {
		return sdk.Position{}, about(topic, "append", err)
	}
	return positionOf(answer.GetLast()), nil
}

// valid replaces what is not UTF-8, as a producer does.
func valid(attributes map[string]string) map[string]string {
	clean := make(map[string]string, len(attributes))
	for name, value := range attributes {
		clean[strings.ToValidUTF8(name, "\uFFFD")] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return clean
}
