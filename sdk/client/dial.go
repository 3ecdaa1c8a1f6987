package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
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

// connectTimeout bounds one attempt to connect.
const connectTimeout = 5 * time.Second

// Dial connects to the server at address, HOST:PORT, and returns once it has
// answered. If ctx has a deadline Dial goes on trying until then; otherwise it
// fails at the first failure. [sdk.ErrUnavailable], [sdk.ErrInvalid].
func Dial(ctx context.Context, address string, o Options) (*Client, error) {
	o, err := o.complete()
	if err == nil {
		err = checkAddress(address, o)
	}
	if err != nil {
		return nil, err
	}
	c := &Client{address: address, options: o}
	c.life, c.endLife = context.WithCancel(context.Background())
	if err = c.connect(); err == nil {
		err = c.hello(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx))) // which has nothing to wait for
	}
	return c, nil
}

// checkAddress refuses what is no HOST:PORT: a missing port would be taken for
// that of HTTPS.
func checkAddress(address string, o Options) error {
	if o.Dialer != nil {
		return nil
	}
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		return fmt.Errorf("client: %w: the address %q is not HOST:PORT", sdk.ErrInvalid, address)
	}
	return nil
}

// connect makes the connections; they are set up when they are needed.
func (c *Client) connect() error {
	target, dial := "dns:///"+c.address, dialOptions(c.options)
	if c.options.Dialer != nil {
		target, dial = "passthrough:///"+c.address, append(dial, grpc.WithContextDialer(c.options.Dialer))
	}
	for range c.options.Connections {
		conn, err := grpc.NewClient(target, dial...)
		if err != nil {
			return fmt.Errorf("client: %w: address %q: %w", sdk.ErrInvalid, c.address, err)
		}
		c.conns = append(c.conns, conn)
		c.links = append(c.links, newLink(c, tidemarkv1.NewProduceServiceClient(conn)))
	}
	c.topics = tidemarkv1.NewTopicServiceClient(c.conns[0])
	c.produce = tidemarkv1.NewProduceServiceClient(c.conns[0])
	c.read = tidemarkv1.NewReadServiceClient(c.conns[0])
	c.cursors = tidemarkv1.NewCursorServiceClient(c.conns[0])
	return nil
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
		grpc.WithDisableServiceConfig(), // of the name server's
		grpc.WithDefaultServiceConfig(serviceConfig()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: wire.ClientPing, Timeout: wire.PingTimeout, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: connectTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithUnaryInterceptor(unary),
	}
}

// hello waits for an answer of the server, again and again if ctx has a
// deadline. What it answers does not matter: one that is not ready because its
// disk is full can still be read from, and helped.
func (c *Client) hello(ctx context.Context) error {
	_, patient := ctx.Deadline()
	var between pause
	var last error
	for {
		_, err := healthpb.NewHealthClient(c.conns[0]).Check(ctx, &healthpb.HealthCheckRequest{})
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err // and not that ctx ended, which says less
		}
		if !patient || !passing(err) {
			break
		}
		between.wait(ctx)
		if ctx.Err() != nil {
			break
		}
	}
	if !errors.Is(last, sdk.ErrUnavailable) && ctx.Err() != nil {
		last = fmt.Errorf("%w: %w", sdk.ErrUnavailable, last)
	}
	if errors.Is(last, sdk.ErrUnavailable) {
		return fmt.Errorf("client: cannot reach %s, is the daemon running? %w", c.address, last)
	}
	return fmt.Errorf("client: server %s: %w", c.address, last)
}
