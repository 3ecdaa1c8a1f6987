package server

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// Options are what an operator chooses for a server. Begin with
// [DefaultOptions].
type Options struct {
	// MaxMessageBytes is the largest gRPC message that is taken. It bounds the
	// entries that can be produced, and with them those that can be read.
	MaxMessageBytes int
	// FrameBytes is how many bytes of entries a frame holds about at most.
	FrameBytes int
	// StreamBytes bounds the bytes of messages of one produce stream that are
	// not answered. At the limit the server stops receiving from that stream.
	StreamBytes int64
	// HeartbeatInterval is how often a reader at the head hears so, unless it
	// asks for another interval.
	HeartbeatInterval time.Duration
	// MaxStreams bounds the streams that one connection may have open.
	MaxStreams uint32
	// Reflection lets clients ask for the schema.
	Reflection bool
	// Version is what the server says it is, for instance in metrics.
	Version string
	// Log gets what an operator should hear of; nil means nothing is logged.
	Log *slog.Logger
}

// DefaultOptions returns what suits most.
func DefaultOptions() Options {
	return Options{
		MaxMessageBytes:   wire.DefaultMaxMessage,
		FrameBytes:        wire.DefaultFrame,
		StreamBytes:       32 << 20,
		HeartbeatInterval: 10 * time.Second,
		MaxStreams:        10_000,
		Reflection:        true,
		Version:           "unknown",
	}
}

// Validate reports all that is wrong.
func (o Options) Validate() error {
	var problems []error
	note := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("server: %w: "+format, append([]any{sdk.ErrInvalid}, args...)...))
		}
	}
	note(o.MaxMessageBytes < 64<<10 || o.MaxMessageBytes > 1<<30, "largest message of %d bytes, it is from 64KiB to 1GiB", o.MaxMessageBytes)
	note(o.FrameBytes < 1 || o.FrameBytes > o.MaxMessageBytes-wire.FrameSlack, "frames of %d bytes, they are from 1 byte to %d below the largest message", o.FrameBytes, wire.FrameSlack)
	note(o.StreamBytes < 1, "%d bytes unanswered on a stream, it is at least 1", o.StreamBytes)
	note(o.HeartbeatInterval < minHeartbeat, "heartbeat every %v, it is at least %v", o.HeartbeatInterval, minHeartbeat)
	note(o.MaxStreams < 1, "%d streams on a connection, it is at least 1", o.MaxStreams)
	return errors.Join(problems...)
}
