package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// cursorService looks after cursors.
type cursorService struct {
	tidemarkv1.UnimplementedCursorServiceServer
	server *Server
}

// found returns an existing cursor with its topic.
func (s *cursorService) found(ctx context.Context, r interface {
	GetTopic() string
	GetCursor() string
}) (*engine.Topic, *managedledger.Cursor, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, nil, err
	}
	c, err := topic.Cursor(r.GetCursor())
	return topic, c, err
}

// stands puts a cursor on the wire.
func (s *cursorService) stands(topic *engine.Topic, c *managedledger.Cursor) *tidemarkv1.Cursor {
	return s.server.cursor(topic.Name(), engine.DescribeCursor(c))
}

// CreateCursor makes a durable cursor.
func (s *cursorService) CreateCursor(ctx context.Context, r *tidemarkv1.CreateCursorRequest) (*tidemarkv1.CreateCursorResponse, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	start, err := placeOf(ctx, topic, r.GetStart())
	if err != nil {
		return nil, err
	}
	c, err := topic.OpenCursor(ctx, r.GetCursor(), managedledger.CursorOptions{Durable: true, From: start, MustCreate: true})
	if err != nil {
		return nil, err
	}
	return &tidemarkv1.CreateCursorResponse{Cursor: s.stands(topic, c)}, nil
}

// ListCursors lists the cursors of a topic.
func (s *cursorService) ListCursors(ctx context.Context, r *tidemarkv1.ListCursorsRequest) (*tidemarkv1.ListCursorsResponse, error) {
	size, after, err := page(r.GetPageSize(), r.GetPageToken())
	if err != nil {
		return nil, err
	}
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	names := topic.Cursors()
	from, found := slices.BinarySearch(names, after)
	if found {
		from++
	}
	names = names[from:]
	answer := &tidemarkv1.ListCursorsResponse{}
	if len(names) > size {
		names = names[:size]
		answer.NextPageToken = pageToken(names[size-1])
	}
	for _, name := range names {
		if c, err := topic.Cursor(name); err == nil { // else it was deleted just now
			answer.Cursors = append(answer.Cursors, s.stands(topic, c))
		}
	}
	return answer, nil
}

// DescribeCursor says where a cursor stands.
func (s *cursorService) DescribeCursor(ctx context.Context, r *tidemarkv1.DescribeCursorRequest) (*tidemarkv1.DescribeCursorResponse, error) {
	topic, c, err := s.found(ctx, r)
	if err != nil {
		return nil, err
	}
	return &tidemarkv1.DescribeCursorResponse{Cursor: s.stands(topic, c)}, nil
}

// SeekCursor moves a cursor.
func (s *cursorService) SeekCursor(ctx context.Context, r *tidemarkv1.SeekCursorRequest) (*tidemarkv1.SeekCursorResponse, error) {
	topic, c, err := s.found(ctx, r)
	if err != nil {
		return nil, err
	}
	start, err := placeOf(ctx, topic, r.GetStart())
	if err != nil {
		return nil, err
	}
	if err := c.Seek(ctx, start); err != nil {
		return nil, err
	}
	return &tidemarkv1.SeekCursorResponse{Cursor: s.stands(topic, c)}, nil
}

// SkipEntries acknowledges the next entries unread.
func (s *cursorService) SkipEntries(ctx context.Context, r *tidemarkv1.SkipEntriesRequest) (*tidemarkv1.SkipEntriesResponse, error) {
	if r.GetCount() < 0 {
		return nil, fmt.Errorf("%w: skip %d entries, it is at least 0", sdk.ErrInvalid, r.GetCount())
	}
	topic, c, err := s.found(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := c.Skip(ctx, r.GetCount()); err != nil {
		return nil, err
	}
	return &tidemarkv1.SkipEntriesResponse{Cursor: s.stands(topic, c)}, nil
}

// ClearBacklog acknowledges all that is there.
func (s *cursorService) ClearBacklog(ctx context.Context, r *tidemarkv1.ClearBacklogRequest) (*tidemarkv1.ClearBacklogResponse, error) {
	topic, c, err := s.found(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := c.Clear(ctx); err != nil {
		return nil, err
	}
	return &tidemarkv1.ClearBacklogResponse{Cursor: s.stands(topic, c)}, nil
}

// ExpireEntries acknowledges what was published before a time.
func (s *cursorService) ExpireEntries(ctx context.Context, r *tidemarkv1.ExpireEntriesRequest) (*tidemarkv1.ExpireEntriesResponse, error) {
	if err := r.GetPublishedBefore().CheckValid(); err != nil {
		return nil, fmt.Errorf("%w: published_before: %w", sdk.ErrInvalid, err)
	}
	_, c, err := s.found(ctx, r)
	if err != nil {
		return nil, err
	}
	expired, err := c.Expire(ctx, r.GetPublishedBefore().AsTime())
	return &tidemarkv1.ExpireEntriesResponse{Expired: expired}, err
}

// AcknowledgeEntries acknowledges what was read.
func (s *cursorService) AcknowledgeEntries(ctx context.Context, r *tidemarkv1.AcknowledgeEntriesRequest) (*tidemarkv1.AcknowledgeEntriesResponse, error) {
	_, c, err := s.found(ctx, r)
	if err != nil {
		return nil, err
	}
	positions, upTo, err := acknowledged(r)
	if err != nil {
		return nil, err
	}
	if upTo != nil {
		err = c.AcknowledgeUpTo(ctx, *upTo)
	}
	if err == nil && len(positions) > 0 {
		err = c.Acknowledge(ctx, positions...)
	}
	return &tidemarkv1.AcknowledgeEntriesResponse{}, err
}

// DeleteCursor removes a cursor; one that is not there is removed already.
func (s *cursorService) DeleteCursor(ctx context.Context, r *tidemarkv1.DeleteCursorRequest) (*tidemarkv1.DeleteCursorResponse, error) {
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	return &tidemarkv1.DeleteCursorResponse{}, ignoreGone(topic.DeleteCursor(ctx, r.GetCursor()))
}
