package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

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
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("server: grpc on %s: %w", l.Addr(), err)
	}
	return nil
}

// ServeHTTP serves until Close, after which it returns nil. The listener
// belongs to the server from now on.
func (s *Server) ServeHTTP(l net.Listener) error { return s.web.serve(l) }

// Close ends the server: it stops accepting, becomes unready, ends readers with
// the position to go on at, answers what producers sent, and ends what is left
// when ctx ends. The error says what was cut off. Closing again waits for the
// same end.
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
	problems := []error{s.web.shutdown(ctx)}
	graceful := make(chan struct{})
	go func() { // ends with the last call, or with Stop
		s.grpc.GracefulStop()
		close(graceful)
	}()
	select {
	case <-graceful:
	case <-ctx.Done():
		problems = append(problems, fmt.Errorf("server: %d streams were cut off: %w", s.streams.Load(), ctx.Err()))
		s.grpc.Stop()
		<-graceful
	}
	s.web.close()
	problems = append(problems, s.meters.shutdown(context.WithoutCancel(ctx)))
	return errors.Join(problems...)
}

// isClosing says whether Close has begun.
func (s *Server) isClosing() bool { return s.life.Err() != nil }
