package server

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// foreignStream is a stream of a service that is not ours, health or
// reflection, and knows nothing of closing: its context ends when the server
// closes, or else it would hold the server up. Who watches health first hears
// that it is over.
type foreignStream struct {
	grpc.ServerStream
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex // guards what is below
	serving bool       // the last that was told of health
	closing bool
}

func newForeignStream(s *Server, stream grpc.ServerStream) *foreignStream {
	f := &foreignStream{ServerStream: stream}
	ctx, cancel := context.WithCancel(stream.Context())
	f.ctx = ctx
	stop := context.AfterFunc(s.life, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.closing = true; !f.serving {
			cancel()
		}
	})
	f.cancel = func() { stop(); cancel() }
	return f
}

// Context ends with the stream, or when the server closes.
func (f *foreignStream) Context() context.Context { return f.ctx }

// SendMsg sends a message. Closing sets health to not serving, which is the
// last that is told.
func (f *foreignStream) SendMsg(m any) error {
	err := f.ServerStream.SendMsg(m)
	if health, ok := m.(*healthpb.HealthCheckResponse); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.serving = health.GetStatus() == healthpb.HealthCheckResponse_SERVING; f.closing && !f.serving {
			f.cancel()
		}
	}
	return err
}

// RecvMsg receives a message, or ends when the context does.
func (f *foreignStream) RecvMsg(m any) error {
	received := make(chan error, 1)
	go func() { received <- f.ServerStream.RecvMsg(m) }() // ends with the stream at the latest
	select {
	case err := <-received:
		return err
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
}
