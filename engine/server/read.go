package server

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// frameEntries bounds the entries of a frame, so that a topic of tiny entries
// does not make huge slices.
const frameEntries = 10_000

// readService hands entries out.
type readService struct {
	tidemarkv1.UnimplementedReadServiceServer
	server *Server
}

// Read runs one read stream.
func (s *readService) Read(r *tidemarkv1.ReadRequest, wire grpc.ServerStreamingServer[tidemarkv1.ReadResponse]) error {
	// ctx also ends when the server closes, which ends a wait for entries.
	ctx, cancel := s.server.untilClosing(wire.Context())
	defer cancel()
	interval, err := s.server.heartbeat(r.GetHeartbeatInterval())
	if err != nil {
		return err
	}
	topic, err := s.server.engine.Topic(ctx, r.GetTopic())
	if err != nil {
		return err
	}
	start, err := startOf(ctx, topic, r.GetStart())
	if err != nil {
		return err
	}
	stream := &readStream{
		server: s.server, wire: wire, ctx: ctx, topic: topic, interval: interval,
		next: topic.Resolve(start), follow: r.GetFollow(), until: topic.LastConfirmed(),
		limited: r.GetMaxEntries() > 0, left: r.GetMaxEntries(),
		pace: s.server.newPace(r.GetMaxFrameBytes()),
	}
	defer func() { stream.stopWaiting() }()
	return stream.run()
}

// readStream is one read stream. It holds one frame at a time.
type readStream struct {
	server   *Server
	wire     grpc.ServerStreamingServer[tidemarkv1.ReadResponse]
	ctx      context.Context
	topic    *engine.Topic
	interval time.Duration

	next   sdk.Position // all before it went out
	follow bool
	// until is where a stream that does not follow ends: at what was there when
	// it began, or it might never end.
	until   sdk.Position
	limited bool
	left    uint64 // entries that may still go out, if limited
	pace    pace

	// waitCtx ends when the next heartbeat is due; it is renewed then, not with
	// every wait.
	waitCtx     context.Context
	stopWaiting context.CancelFunc
}

// run sends until the end.
func (s *readStream) run() error {
	s.renewWait()
	if !s.follow && s.until.Before(s.next) {
		return s.end(tidemarkv1.EndCause_END_CAUSE_TAIL)
	}
	for wait := false; ; {
		head := s.topic.LastConfirmed() // before the read: what is up to it goes out first
		r, err := s.read(wait)
		switch {
		case s.server.isClosing():
			return s.end(tidemarkv1.EndCause_END_CAUSE_SHUTDOWN)
		case errors.Is(err, reason.ErrNoMoreEntries):
			return s.end(tidemarkv1.EndCause_END_CAUSE_TERMINATED)
		case err != nil && s.waitCtx.Err() != nil && s.ctx.Err() == nil:
			s.renewWait()
			err = s.beat(head)
		case err == nil && (len(r.Entries) > 0 || r.Gone):
			err = s.send(r)
		case err == nil:
			wait, s.next = true, r.Next
			if s.follow {
				err = s.beat(head)
			}
		}
		if err != nil {
			return err
		}
		switch {
		case s.limited && s.left == 0:
			return s.end(tidemarkv1.EndCause_END_CAUSE_LIMIT)
		case !s.follow && (wait || s.until.Before(s.next)):
			return s.end(tidemarkv1.EndCause_END_CAUSE_TAIL)
		}
	}
}

// read reads the next frame: what is there, or, with wait, what comes.
func (s *readStream) read(wait bool) (managedledger.ReadResult, error) {
	most := managedledger.Max{Entries: frameEntries, Bytes: s.pace.next()}
	if s.limited {
		most.Entries = int(min(s.left, frameEntries))
	}
	if wait {
		return s.topic.ReadOrWait(s.waitCtx, s.next, most)
	}
	return s.topic.Read(s.ctx, s.next, most)
}

// send sends what was read.
func (s *readStream) send(r managedledger.ReadResult) error {
	if r.Gone {
		gone := &tidemarkv1.ReadResponse_Gone{Gone: &tidemarkv1.Gone{Next: position(r.GoneUntil)}}
		if err := s.wire.Send(&tidemarkv1.ReadResponse{Frame: gone}); err != nil {
			return err
		}
	}
	next, n, size := r.Next, len(r.Entries), bytesOf(r.Entries)
	if n > 0 {
		frame := &tidemarkv1.ReadResponse{Frame: &tidemarkv1.ReadResponse_Entries{Entries: pack(r)}}
		// From here on r is not used, so that while a client does not read only
		// the frame is kept, and not the blocks that its entries are parts of.
		if err := s.pace.goes(size, func() error { return s.wire.Send(frame) }); err != nil {
			return err
		}
		s.server.meters.handedOut(n, size)
		s.left -= min(s.left, uint64(n))
	}
	s.next = next
	return nil
}

// beat says that all up to head went out, if that is so.
func (s *readStream) beat(head sdk.Position) error {
	if !head.Before(s.next) {
		return nil
	}
	return s.wire.Send(&tidemarkv1.ReadResponse{Frame: &tidemarkv1.ReadResponse_Heartbeat{
		Heartbeat: &tidemarkv1.Heartbeat{LastConfirmed: position(head), Next: position(s.next)},
	}})
}

// end sends the last frame. A stream that the shutdown ends is unavailable, so
// that also a client that does not know the frame goes elsewhere.
func (s *readStream) end(cause tidemarkv1.EndCause) error {
	err := s.wire.Send(&tidemarkv1.ReadResponse{Frame: &tidemarkv1.ReadResponse_End{
		End: &tidemarkv1.End{Cause: cause, Resume: position(s.next)},
	}})
	if err == nil && cause == tidemarkv1.EndCause_END_CAUSE_SHUTDOWN {
		return errClosing
	}
	return err
}

// renewWait begins the time until the next heartbeat.
func (s *readStream) renewWait() {
	if s.stopWaiting != nil {
		s.stopWaiting()
	}
	s.waitCtx, s.stopWaiting = context.WithTimeout(s.ctx, s.interval)
}

// untilClosing returns a context that also ends when the server closes.
func (s *Server) untilClosing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() { stop(); cancel() }
}
