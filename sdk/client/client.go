package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// Client talks to one server. Its methods may be called at the same time from
// many goroutines. Close it when it is not needed any more.
type Client struct {
	address string
	options Options
	conns   []*grpc.ClientConn
	topics  tidemarkv1.TopicServiceClient
	produce tidemarkv1.ProduceServiceClient
	read    tidemarkv1.ReadServiceClient
	cursors tidemarkv1.CursorServiceClient

	// life ends when Close begins.
	life    context.Context
	endLife context.CancelFunc
	links   []*link
	nextOne atomic.Uint64 // which link the next producer gets
	running sync.WaitGroup
	waiters sync.Pool // of *waiter
}

// Dial connects to the server at address, HOST:PORT, and returns once it has
// answered. If ctx has a deadline Dial goes on trying until then; otherwise it
// fails at the first failure. [sdk.ErrUnavailable].
func Dial(ctx context.Context, address string, o Options) (*Client, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	c := &Client{address: address, options: o}
	c.life, c.endLife = context.WithCancel(context.Background())
	for range o.Connections {
		conn, err := grpc.NewClient(address, dialOptions(o)...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("client: %w: address %q: %w", sdk.ErrInvalid, address, err), c.Close(ctx))
		}
		c.conns = append(c.conns, conn)
		c.links = append(c.links, newLink(c, tidemarkv1.NewProduceServiceClient(conn)))
	}
	c.topics = tidemarkv1.NewTopicServiceClient(c.conns[0])
	c.produce = tidemarkv1.NewProduceServiceClient(c.conns[0])
	c.read = tidemarkv1.NewReadServiceClient(c.conns[0])
	c.cursors = tidemarkv1.NewCursorServiceClient(c.conns[0])
	if err := c.hello(ctx); err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	return c, nil
}

func dialOptions(o Options) []grpc.DialOption {
	transport := insecure.NewCredentials()
	if o.TLS != nil {
		transport = credentials.NewTLS(o.TLS)
	}
	reconnect := backoff.DefaultConfig
	reconnect.BaseDelay, reconnect.MaxDelay = firstPause, lastPause
	return []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithNoProxy(),
		grpc.WithDefaultServiceConfig(serviceConfig()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: wire.ClientPing, Timeout: wire.PingTimeout, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return wire.Error(invoke(ctx, method, request, answer, conn, opts...))
		}),
	}
}

// hello asks the server how it is.
func (c *Client) hello(ctx context.Context) error {
	_, patient := ctx.Deadline()
	answer, err := healthpb.NewHealthClient(c.conns[0]).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(patient))
	if err != nil {
		if patient && ctx.Err() != nil {
			return fmt.Errorf("client: server %s: %w: %w", c.address, sdk.ErrUnavailable, err)
		}
		return fmt.Errorf("client: server %s: %w", c.address, err)
	}
	if answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("client: server %s: %w: it says %s", c.address, sdk.ErrUnavailable, answer.GetStatus())
	}
	return nil
}

// Address returns the address that was dialled.
func (c *Client) Address() string { return c.address }

// Close ends all that goes over the client: messages that are not acknowledged
// fail with [sdk.ErrUnknownOutcome] or, if they were not sent, with
// [sdk.ErrClosed]; readers and cursors end with [sdk.ErrClosed]. To lose
// nothing, close the producers first.
func (c *Client) Close(ctx context.Context) error {
	c.endLife()
	ended := make(chan struct{})
	go func() { // ends with the goroutines of the client, which life ends
		c.running.Wait()
		close(ended)
	}()
	var problems []error
	select {
	case <-ended:
	case <-ctx.Done():
		problems = append(problems, fmt.Errorf("client: close: %w", ctx.Err()))
	}
	for _, conn := range c.conns {
		if err := conn.Close(); err != nil && !errors.Is(err, grpc.ErrClientConnClosing) {
			problems = append(problems, fmt.Errorf("client: close: %w", err))
		}
	}
	return errors.Join(problems...)
}

// errClosed is what a closed client gives.
var errClosed = fmt.Errorf("client: %w", sdk.ErrClosed)

// How long to wait before a connection or stream is tried again.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// pause grows each time.
type pause struct{ last time.Duration }

// longer returns how long to wait this time.
func (p *pause) longer() time.Duration {
	p.last = min(max(2*p.last, firstPause), lastPause)
	return p.last
}

// wait waits for that long, or until ctx ends.
func (p *pause) wait(ctx context.Context) {
	timer := time.NewTimer(p.longer())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (p *pause) reset() { p.last = 0 }
