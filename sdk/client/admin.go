package client

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// CreateTopic makes a topic with settings of its own, text by name, which may
// be nil. One that is there with the same settings is no error.
// [reason.ErrTopicExists], [reason.ErrInvalidName], [reason.ErrInvalidSetting].
func (c *Client) CreateTopic(ctx context.Context, topic string, overrides map[string]string) error {
	_, err := c.topics.CreateTopic(ctx, &tidemarkv1.CreateTopicRequest{Topic: topic, Overrides: overrides})
	return err
}

// Topics returns the names of all topics.
func (c *Client) Topics(ctx context.Context) ([]string, error) {
	var names []string
	request := &tidemarkv1.ListTopicsRequest{}
	for {
		page, err := c.topics.ListTopics(ctx, request)
		if err != nil {
			return nil, err
		}
		names = append(names, page.GetTopics()...)
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return names, nil
		}
	}
}

// DescribeTopic returns all about a topic. [reason.ErrTopicNotFound].
func (c *Client) DescribeTopic(ctx context.Context, topic string) (*tidemarkv1.Topic, error) {
	answer, err := c.topics.DescribeTopic(ctx, &tidemarkv1.DescribeTopicRequest{Topic: topic})
	return answer.GetTopic(), err
}

// UpdateTopic changes settings of a topic, text by name; an empty text goes
// back to the server's setting. It returns all settings in force.
// [reason.ErrTopicNotFound], [reason.ErrInvalidSetting].
func (c *Client) UpdateTopic(ctx context.Context, topic string, changes map[string]string) (map[string]*tidemarkv1.Setting, error) {
	answer, err := c.topics.UpdateTopic(ctx, &tidemarkv1.UpdateTopicRequest{Topic: topic, Overrides: changes})
	return answer.GetSettings(), err
}

// TerminateTopic ends publishing to a topic for ever and returns its last
// position.
func (c *Client) TerminateTopic(ctx context.Context, topic string) (sdk.Position, error) {
	answer, err := c.topics.TerminateTopic(ctx, &tidemarkv1.TerminateTopicRequest{Topic: topic})
	return positionOf(answer.GetLast()), err
}

// TruncateTopic removes the entries that are there.
func (c *Client) TruncateTopic(ctx context.Context, topic string) error {
	_, err := c.topics.TruncateTopic(ctx, &tidemarkv1.TruncateTopicRequest{Topic: topic})
	return err
}

// TrimTopic removes now what retention and cursors allow to remove, and returns
// how many ledgers that were.
func (c *Client) TrimTopic(ctx context.Context, topic string) (int, error) {
	answer, err := c.topics.TrimTopic(ctx, &tidemarkv1.TrimTopicRequest{Topic: topic})
	return int(answer.GetRemovedLedgers()), err
}

// RollTopic begins a new ledger.
func (c *Client) RollTopic(ctx context.Context, topic string) error {
	_, err := c.topics.RollTopic(ctx, &tidemarkv1.RollTopicRequest{Topic: topic})
	return err
}

// DeleteTopic removes a topic. One that is not there is no error.
func (c *Client) DeleteTopic(ctx context.Context, topic string) error {
	_, err := c.topics.DeleteTopic(ctx, &tidemarkv1.DeleteTopicRequest{Topic: topic})
	return err
}

// CreateCursor makes a durable cursor. [reason.ErrCursorExists],
// [reason.ErrPositionInvalid] for a position beyond the end of the topic.
func (c *Client) CreateCursor(ctx context.Context, topic, cursor string, from Start) (*tidemarkv1.Cursor, error) {
	answer, err := c.cursors.CreateCursor(ctx, &tidemarkv1.CreateCursorRequest{Topic: topic, Cursor: cursor, Start: from.start})
	return answer.GetCursor(), err
}

// Cursors returns all cursors of a topic.
func (c *Client) Cursors(ctx context.Context, topic string) ([]*tidemarkv1.Cursor, error) {
	var cursors []*tidemarkv1.Cursor
	request := &tidemarkv1.ListCursorsRequest{Topic: topic}
	for {
		page, err := c.cursors.ListCursors(ctx, request)
		if err != nil {
			return nil, err
		}
		cursors = append(cursors, page.GetCursors()...)
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return cursors, nil
		}
	}
}

// DescribeCursor says where a cursor stands. [reason.ErrCursorNotFound].
func (c *Client) DescribeCursor(ctx context.Context, topic, cursor string) (*tidemarkv1.Cursor, error) {
	answer, err := c.cursors.DescribeCursor(ctx, &tidemarkv1.DescribeCursorRequest{Topic: topic, Cursor: cursor})
	return answer.GetCursor(), err
}

// SeekCursor moves a cursor and says where it stands then.
// [reason.ErrPositionInvalid] for a position beyond the end of the topic.
func (c *Client) SeekCursor(ctx context.Context, topic, cursor string, to Start) (*tidemarkv1.Cursor, error) {
	answer, err := c.cursors.SeekCursor(ctx, &tidemarkv1.SeekCursorRequest{Topic: topic, Cursor: cursor, Start: to.start})
	return answer.GetCursor(), err
}

// SkipEntries acknowledges the next n entries unread.
func (c *Client) SkipEntries(ctx context.Context, topic, cursor string, n int64) (*tidemarkv1.Cursor, error) {
	answer, err := c.cursors.SkipEntries(ctx, &tidemarkv1.SkipEntriesRequest{Topic: topic, Cursor: cursor, Count: n})
	return answer.GetCursor(), err
}

// ClearBacklog acknowledges all that is there now.
func (c *Client) ClearBacklog(ctx context.Context, topic, cursor string) (*tidemarkv1.Cursor, error) {
	answer, err := c.cursors.ClearBacklog(ctx, &tidemarkv1.ClearBacklogRequest{Topic: topic, Cursor: cursor})
	return answer.GetCursor(), err
}

// ExpireEntries acknowledges what was published before a time, and returns how
// many entries that were.
func (c *Client) ExpireEntries(ctx context.Context, topic, cursor string, publishedBefore time.Time) (int64, error) {
	answer, err := c.cursors.ExpireEntries(ctx, &tidemarkv1.ExpireEntriesRequest{Topic: topic, Cursor: cursor, PublishedBefore: timestamppb.New(publishedBefore)})
	return answer.GetExpired(), err
}

// AcknowledgeEntries acknowledges single entries of a cursor that is not open
// here. It returns when that is durable.
func (c *Client) AcknowledgeEntries(ctx context.Context, topic, cursor string, positions ...sdk.Position) error {
	_, err := c.cursors.AcknowledgeEntries(ctx, &tidemarkv1.AcknowledgeEntriesRequest{Topic: topic, Cursor: cursor, Positions: positionsOn(positions)})
	return err
}

// AcknowledgeEntriesUpTo acknowledges all entries up to p.
func (c *Client) AcknowledgeEntriesUpTo(ctx context.Context, topic, cursor string, p sdk.Position) error {
	_, err := c.cursors.AcknowledgeEntries(ctx, &tidemarkv1.AcknowledgeEntriesRequest{Topic: topic, Cursor: cursor, UpTo: positionOn(p)})
	return err
}

// DeleteCursor removes a cursor. One that is not there is no error.
func (c *Client) DeleteCursor(ctx context.Context, topic, cursor string) error {
	_, err := c.cursors.DeleteCursor(ctx, &tidemarkv1.DeleteCursorRequest{Topic: topic, Cursor: cursor})
	return err
}
