package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// errClosing is what calls get that the server does not take any more.
var errClosing = fmt.Errorf("the server shuts down: %w", sdk.ErrUnavailable)

// unary stands around every call with one answer: it counts, gives errors their
// reason, and turns a panic into an error.
func (s *Server) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	began := time.Now()
	defer s.work.begin()()
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(info.FullMethod, p)
		}
		s.meters.call(ctx, info.FullMethod, reason.Of(err), time.Since(began))
		if err != nil {
			err = wire.Status(err, facts(request)).Err()
		}
	}()
	return handler(ctx, request)
}

// stream does the same for streams, which are counted while they are open.
func (s *Server) stream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	began := time.Now()
	s.streams.Add(1)
	if info.FullMethod == tidemarkv1.ProduceService_Produce_FullMethodName {
		defer s.work.begin()()
	}
	defer func() {
		s.streams.Add(-1)
		if p := recover(); p != nil {
			err = s.panicked(info.FullMethod, p)
		}
		s.meters.call(stream.Context(), info.FullMethod, reason.Of(err), time.Since(began))
		if err != nil {
			err = wire.Status(err, nil).Err()
		}
	}()
	if strings.HasPrefix(info.FullMethod, "/tidemark.") {
		return handler(service, stream)
	}
	foreign := newForeignStream(s, stream)
	defer foreign.cancel()
	if err := handler(service, foreign); err == nil || !s.isClosing() {
		return err
	}
	return errClosing
}

// panicked makes an error of a panic: one call fails, the server goes on.
func (s *Server) panicked(method string, p any) error {
	s.log.Error("a call panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
	return fmt.Errorf("%s: internal error, see the server's log", method)
}

// facts are what a program may want to know of a call that failed.
func facts(request any) map[string]string {
	known := map[string]string{}
	if r, ok := request.(interface{ GetTopic() string }); ok && r.GetTopic() != "" {
		known["topic"] = r.GetTopic()
	}
	if r, ok := request.(interface{ GetCursor() string }); ok && r.GetCursor() != "" {
		known["cursor"] = r.GetCursor()
	}
	return known
}
