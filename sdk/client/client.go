package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
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

	mu      sync.Mutex // guards closed, and running against a start while Close waits
	closed  bool
	running sync.WaitGroup
}

// Address returns the address that was dialled.
func (c *Client) Address() string { return c.address }

// start runs a goroutine that ends soon after the client's life does. It
// returns false, and does nothing, if the client is closed.
func (c *Client) start(run func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.running.Go(run)
	}
	return !c.closed
}

// Close ends all that goes over the client: messages that are not acknowledged
// fail with [sdk.ErrUnknownOutcome] or, if they were not sent, with
// [sdk.ErrClosed]; readers and cursors end with [sdk.ErrClosed]. To lose
// nothing, close the producers first. When ctx ends first, Close returns its
// error, and what is left ends in the background.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
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
		if err := conn.Close(); err != nil && status.Code(err) != codes.Canceled {
			problems = append(problems, fmt.Errorf("client: close: %w", err))
		}
	}
	return errors.Join(problems...)
}

// errClosed is what a closed client gives.
var errClosed = fmt.Errorf("client: %w", sdk.ErrClosed)
