package server

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// topicService looks after topics.
type topicService struct {
	tidemarkv1.UnimplementedTopicServiceServer
	server *Server
}

// CreateTopic makes a topic.
func (s *topicService) CreateTopic(ctx context.Context, r *tidemarkv1.CreateTopicRequest) (*tidemarkv1.CreateTopicResponse, error) {
	_, err := s.server.engine.CreateTopic(ctx, r.GetTopic(), engine.TopicOptions{Overrides: r.GetOverrides()})
	return &tidemarkv1.CreateTopicResponse{}, err
}

// ListTopics lists topics.
func (s *topicService) ListTopics(ctx context.Context, r *tidemarkv1.ListTopicsRequest) (*tidemarkv1.ListTopicsResponse, error) {
	size, after, err := page(r.GetPageSize(), r.GetPageToken())
	if err != nil {
		return nil, err
	}
	names, err := s.server.engine.Topics(ctx, after, size)
	answer := &tidemarkv1.ListTopicsResponse{Topics: names}
	if len(names) == size {
		answer.NextPageToken = pageToken(names[size-1])
	}
	return answer, err
}

// DescribeTopic says all about a topic.
func (s *topicService) DescribeTopic(ctx context.Context, r *tidemarkv1.DescribeTopicRequest) (*tidemarkv1.DescribeTopicResponse, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	d, err := topic.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return &tidemarkv1.DescribeTopicResponse{Topic: s.server.describe(d)}, nil
}

// UpdateTopic changes settings.
func (s *topicService) UpdateTopic(ctx context.Context, r *tidemarkv1.UpdateTopicRequest) (*tidemarkv1.UpdateTopicResponse, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	if err := topic.SetOverrides(ctx, r.GetOverrides()); err != nil {
		return nil, err
	}
	d, err := topic.Describe(ctx)
	return &tidemarkv1.UpdateTopicResponse{Settings: settings(d.Settings)}, err
}

// TerminateTopic ends publishing for ever.
func (s *topicService) TerminateTopic(ctx context.Context, r *tidemarkv1.TerminateTopicRequest) (*tidemarkv1.TerminateTopicResponse, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	last, err := topic.Terminate(ctx)
	return &tidemarkv1.TerminateTopicResponse{Last: position(last)}, err
}

// TruncateTopic removes the entries that are there.
func (s *topicService) TruncateTopic(ctx context.Context, r *tidemarkv1.TruncateTopicRequest) (*tidemarkv1.TruncateTopicResponse, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	return &tidemarkv1.TruncateTopicResponse{}, topic.Truncate(ctx)
}

// TrimTopic removes what may go.
func (s *topicService) TrimTopic(ctx context.Context, r *tidemarkv1.TrimTopicRequest) (*tidemarkv1.TrimTopicResponse, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	removed, err := topic.Trim(ctx)
	return &tidemarkv1.TrimTopicResponse{RemovedLedgers: int32(removed)}, err
}

// RollTopic begins a new ledger.
func (s *topicService) RollTopic(ctx context.Context, r *tidemarkv1.RollTopicRequest) (*tidemarkv1.RollTopicResponse, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	return &tidemarkv1.RollTopicResponse{}, topic.Roll(ctx)
}

// DeleteTopic removes a topic.
func (s *topicService) DeleteTopic(ctx context.Context, r *tidemarkv1.DeleteTopicRequest) (*tidemarkv1.DeleteTopicResponse, error) {
	return &tidemarkv1.DeleteTopicResponse{}, s.server.engine.DeleteTopic(ctx, r.GetTopic())
}

// How many lines a page of a listing has.
const (
	pageSize    = 100
	maxPageSize = 1000
)

// page reads what a listing was asked for. after is the last name of the page
// before.
func page(size int32, token string) (limit int, after string, err error) {
	if size < 0 {
		return 0, "", fmt.Errorf("%w: page size %d is negative", sdk.ErrInvalid, size)
	}
	name, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, "", fmt.Errorf("%w: the page token is not one that a listing gave", sdk.ErrInvalid)
	}
	if size == 0 {
		size = pageSize
	}
	return int(min(size, maxPageSize)), string(name), nil
}

// pageToken asks for the page behind a name.
func pageToken(last string) string { return base64.RawURLEncoding.EncodeToString([]byte(last)) }
