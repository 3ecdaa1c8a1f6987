package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// maxUnansweredRequests bounds the acknowledgements of one stream that are not
// answered. At the limit the server stops receiving from it.
const maxUnansweredRequests = 10_000

// consumeWire is the stream as gRPC gives it.
type consumeWire = grpc.BidiStreamingServer[tidemarkv1.ConsumeRequest, tidemarkv1.ConsumeResponse]

// Consume runs one stream that reads through a cursor.
func (s *readService) Consume(wire consumeWire) error {
	ctx, cancel := s.server.untilClosing(wire.Context())
	defer cancel()
	first, err := wire.Recv()
	if err != nil {
		return err
	}
	open := first.GetOpen()
	if open == nil {
		return fmt.Errorf("%w: the first frame of the stream opens a cursor", sdk.ErrInvalid)
	}
	interval, err := s.server.heartbeat(open.GetHeartbeatInterval())
	if err != nil {
		return err
	}
	topic, err := s.server.engine.Topic(ctx, open.GetTopic())
	if err != nil {
		return err
	}
	holder, err := s.server.holders.take(ctx, open.GetTopic(), open.GetCursor())
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { // ends with the stream
		defer s.server.holders.release(holder)
		ended <- s.consume(wire, holder, topic, open, interval)
	}()
	select {
	case err := <-ended:
		return err
	case <-holder.taken:
		// Returning frees a sender that waits for a client which does not read.
		return context.Cause(holder.ctx)
	}
}

// consume reads through a cursor that a stream has got.
func (s *readService) consume(wire consumeWire, holder *holder, topic *engine.Topic, open *tidemarkv1.ConsumeOpen, interval time.Duration) error {
	cursor, err := openCursor(holder.ctx, topic, open)
	if err != nil {
		return err
	}
	c := &consumeStream{
		server: s.server, wire: wire, ctx: holder.ctx, topic: topic, cursor: cursor,
		interval: interval, pace: s.server.newPace(open.GetMaxFrameBytes()),
		requests: make(chan *tidemarkv1.ConsumeRequest),
		received: make(chan error, 1),
		reads:    make(chan read, 1),
		answers:  newAnswers(),
	}
	go c.receive() // ends with the stream's context, at the latest with Consume
	err = c.run()
	c.stopReading()
	if open.GetEphemeral() && !cursor.Durable() {
		err = errors.Join(err, ignoreGone(topic.DeleteCursor(context.WithoutCancel(holder.ctx), cursor.Name())))
	}
	return err
}

// openCursor opens the cursor of a stream.
func openCursor(ctx context.Context, topic *engine.Topic, open *tidemarkv1.ConsumeOpen) (*managedledger.Cursor, error) {
	start, err := startOf(ctx, topic, open.GetStart())
	if err != nil {
		return nil, err
	}
	cursor, err := topic.OpenCursor(ctx, open.GetCursor(), managedledger.CursorOptions{
		Durable: !open.GetEphemeral(), From: start, MustExist: open.GetMustExist(),
	})
	if err != nil {
		return nil, err
	}
	cursor.Rewind() // what was handed out and not acknowledged comes again
	return cursor, nil
}

// ignoreGone drops the error that a cursor is gone already.
func ignoreGone(err error) error {
	if errors.Is(err, reason.ErrCursorNotFound) || errors.Is(err, sdk.ErrClosed) || errors.Is(err, reason.ErrTopicNotFound) {
		return nil
	}
	return err
}

// read is how a read of the cursor ended.
type read struct {
	result managedledger.ReadResult
	err    error
}

// consumeStream is one stream that reads through a cursor. One goroutine
// receives requests, the other owns everything here but the answers.
type consumeStream struct {
	server   *Server
	wire     consumeWire
	ctx      context.Context // ends with the stream, a newer one, or the server
	topic    *engine.Topic
	cursor   *managedledger.Cursor
	interval time.Duration
	pace     pace

	requests chan *tidemarkv1.ConsumeRequest
	received chan error // why there are no more requests; has room for it
	reads    chan read  // has room for the one read that is in flight
	answers  *answers

	next     sdk.Position // all before it went out, or is acknowledged
	head     sdk.Position // the last confirmed entry before the read in flight
	inFlight bool
	waits    bool    // the next read waits for entries
	ended    bool    // the topic was terminated and read to its end
	seeking  *answer // reading waits until it is told

	entries    uint64 // permits
	bytes      int64
	countBytes bool
	permitted  bool // permits came
}

// receive takes requests until there are no more.
func (c *consumeStream) receive() {
	for {
		r, err := c.wire.Recv()
		if err != nil {
			c.received <- err
			return
		}
		select {
		case c.requests <- r:
		case <-c.ctx.Done():
			return
		}
	}
}
