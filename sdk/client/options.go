package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// Options are how a client connects. The zero value is useful.
type Options struct {
	// RetryFor is for how long producers and readers try to get a broken
	// connection back; 0 means 30 s, a negative value not at all.
	RetryFor time.Duration
	// Connections is over how many connections producers are spread; 0 means
	// one, which carries hundreds of thousands of messages per second.
	Connections int
	// TLS turns encryption on.
	TLS *tls.Config
	// Dialer makes the network connections, in place of TCP; the address is
	// then whatever it understands. It may be called from any goroutine.
	Dialer func(ctx context.Context, address string) (net.Conn, error)
}

const defaultRetryFor = 30 * time.Second

// complete fills in what was left out, and reports all that is wrong.
func (o Options) complete() (Options, error) {
	if o.RetryFor == 0 {
		o.RetryFor = defaultRetryFor
	}
	if o.Connections == 0 {
		o.Connections = 1
	}
	if o.Connections < 0 || o.Connections > 1024 {
		return o, fmt.Errorf("client: %w: %d connections, they are from 1 to 1024", sdk.ErrInvalid, o.Connections)
	}
	return o, nil
}

// ProducerOptions are how a producer works. The zero value is useful.
type ProducerOptions struct {
	// Name makes the producer known to the topic: a later producer of the same
	// name, also of another process, sees its last sequence and can repeat what
	// was not acknowledged without storing it twice. A newer one ends an older
	// one. Without a name a random one is used, so that at least this producer
	// can repeat.
	Name string
	// Anonymous does without a name: the server remembers nothing, and what was
	// on its way when a connection broke has an unknown outcome.
	Anonymous bool
	// Linger is how long a message may wait for others to go with it; 0 means
	// not at all: it waits only for what is being sent.
	Linger time.Duration
	// MaxBatchBytes bounds a batch; 0 means 1 MiB. A single message may exceed
	// it.
	MaxBatchBytes int
	// MaxBatchMessages bounds a batch; 0 means 10,000.
	MaxBatchMessages int
	// MaxPendingBytes bounds the messages that are not acknowledged; at the
	// limit sending waits. 0 means 16 MiB.
	MaxPendingBytes int
	// RetryFor is as in [Options], which holds if it is 0.
	RetryFor time.Duration
}

// complete fills in what was left out, and reports all that is wrong.
func (o ProducerOptions) complete(of Options) (ProducerOptions, error) {
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&o.MaxBatchBytes, wire.DefaultFrame)
	fill(&o.MaxBatchMessages, 10_000)
	fill(&o.MaxPendingBytes, 16<<20)
	if o.RetryFor == 0 {
		o.RetryFor = of.RetryFor
	}
	var problems []error
	note := func(bad bool, what string) {
		if bad {
			problems = append(problems, fmt.Errorf("client: producer: %w: %s", sdk.ErrInvalid, what))
		}
	}
	note(o.Anonymous && o.Name != "", "an anonymous producer has no name")
	note(o.Linger < 0, "linger is negative")
	note(o.MaxBatchBytes < 0 || o.MaxBatchMessages < 0 || o.MaxPendingBytes < 0, "a limit is negative")
	return o, errors.Join(problems...)
}
