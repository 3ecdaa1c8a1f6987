package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/tidemark-engine/tidemark/engine"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// Server offers one engine. It does not own the engine: who made the server
// closes it first, then the engine.
type Server struct {
	engine  *engine.Engine
	options Options
	log     *slog.Logger
	grpc    *grpc.Server
	conns   conns
	health  *health.Server
	web     *web
	meters  *meters
	holders *holders

	// life ends when Close begins: streams end, readiness goes.
	life    context.Context
	endLife context.CancelFunc
	once    sync.Once
	// closed is closed when Close is through, with its result in closeErr.
	closed   chan struct{}
	closeErr error
	// streams counts the streams that are open.
	streams atomic.Int64
	// work is calls and produce streams: what is acknowledged when it ends well.
	work inFlight
	// underWay is the bytes of frames that are being sent to readers.
	underWay atomic.Int64
}

// New makes a server that serves nothing yet: pass listeners to [Server.ServeGRPC]
// and [Server.ServeHTTP].
func New(e *engine.Engine, o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	codec, err := newCodec()
	if err != nil {
		return nil, fmt.Errorf("server: buffers: %w", err)
	}
	s := &Server{
		engine: e, options: o, log: o.Log,
		health: health.NewServer(), holders: newHolders(),
		closed: make(chan struct{}),
	}
	s.life, s.endLife = context.WithCancel(context.Background())
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.meters, err = newMeters(s); err != nil {
		return nil, fmt.Errorf("server: metrics: %w", err)
	}
	s.grpc = grpc.NewServer(
		grpc.ForceServerCodecV2(codec),
		grpc.MaxRecvMsgSize(o.MaxMessageBytes),
		grpc.MaxConcurrentStreams(o.MaxStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: wire.ServerPing, Timeout: wire.PingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: wire.MinClientPing, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
	)
	tidemarkv1.RegisterTopicServiceServer(s.grpc, &topicService{server: s})
	tidemarkv1.RegisterProduceServiceServer(s.grpc, &produceService{server: s})
	tidemarkv1.RegisterReadServiceServer(s.grpc, &readService{server: s})
	tidemarkv1.RegisterCursorServiceServer(s.grpc, &cursorService{server: s})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	s.setHealth(healthpb.HealthCheckResponse_SERVING)
	if o.Reflection {
		reflection.Register(s.grpc)
	}
	if s.web, err = newWeb(s); err != nil {
		return nil, fmt.Errorf("server: http: %w", err)
	}
	go s.watchHealth() // ends with closing
	return s, nil
}

// ServeGRPC serves until Close, after which it returns nil. The listener
// belongs to the server from now on.
func (s *Server) ServeGRPC(l net.Listener) error {
	if err := s.grpc.Serve(s.conns.of(l)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("server: grpc on %s: %w", l.Addr(), err)
	}
	return nil
}

// ServeHTTP serves until Close, after which it returns nil. The listener
// belongs to the server from now on.
func (s *Server) ServeHTTP(l net.Listener) error { return s.web.serve(l) }

// Close ends the server: it stops accepting, becomes unready, ends readers with
// the position to go on at, and answers what producers sent. Readers that do not
// take the last frame are cut off after a moment, all that is left when ctx ends;
// the error says what that was. Closing again waits for the same end.
func (s *Server) Close(ctx context.Context) error {
	s.once.Do(func() {
		s.endLife()
		s.setHealth(healthpb.HealthCheckResponse_NOT_SERVING)
		s.closeErr = s.shutdown(ctx)
		close(s.closed)
	})
	select {
	case <-s.closed:
		return s.closeErr
	case <-ctx.Done():
		return fmt.Errorf("server: close: %w", ctx.Err())
	}
}

func (s *Server) shutdown(ctx context.Context) error {
	var problems []error
	webCtx, cutWeb := context.WithCancel(ctx)
	defer cutWeb()
	webEnded := make(chan error, 1)
	go func() { webEnded <- s.web.shutdown(webCtx) }() // ends with webCtx
	graceful := make(chan struct{})
	go func() { // ends with the last call, or with Stop
		s.grpc.GracefulStop()
		close(graceful)
	}()
	select {
	case <-graceful:
	case <-s.readersLate(graceful):
		s.log.Warn("readers were cut off, because they did not read", "streams", s.streams.Load())
	case <-ctx.Done():
		problems = append(problems, fmt.Errorf("server: %d streams were cut off: %w", s.streams.Load(), ctx.Err()))
	}
	s.conns.cut()
	s.grpc.Stop()
	<-graceful
	// What HTTP requests wait for has ended with that.
	grace := time.AfterFunc(readersGrace, cutWeb)
	defer grace.Stop()
	if err := <-webEnded; ctx.Err() != nil {
		problems = append(problems, err)
	} else if err != nil {
		s.log.Warn("readers were cut off, because they did not read", "error", err)
	}
	s.web.close()
	problems = append(problems, s.meters.shutdown(context.WithoutCancel(ctx)))
	return errors.Join(problems...)
}

// readersGrace is how long the server waits for readers to take the last frame,
// once all that was sent to it is answered.
const readersGrace = 2 * time.Second

// readersLate returns a channel that is closed when only readers are left that
// do not read.
func (s *Server) readersLate(graceful <-chan struct{}) <-chan struct{} {
	late := make(chan struct{})
	go func() { // ends with the graceful end at the latest
		select {
		case <-s.work.wait():
		case <-graceful:
			return
		}
		grace := time.NewTimer(readersGrace)
		defer grace.Stop()
		select {
		case <-grace.C:
			close(late)
		case <-graceful:
		}
	}()
	return late
}

// isClosing says whether Close has begun.
func (s *Server) isClosing() bool { return s.life.Err() != nil }
