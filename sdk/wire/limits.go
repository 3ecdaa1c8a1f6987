package wire

import "time"

// Keepalive. A client that pings more often than a server allows is cut off,
// so both ends take the figures from here.
const (
	// ClientPing is after which silence a client asks whether the server lives.
	ClientPing = 20 * time.Second
	// MinClientPing is how often a server lets a client ask.
	MinClientPing = 10 * time.Second
	// ServerPing is after which silence a server asks whether the client lives.
	ServerPing = 30 * time.Second
	// PingTimeout is how long either end waits for the answer.
	PingTimeout = 10 * time.Second
)

// Sizes, in bytes.
const (
	// DefaultMaxMessage is the largest gRPC message that a server takes if
	// nothing else was configured. What a server sends is bounded by what it
	// took, so a client accepts any size.
	DefaultMaxMessage = 16 << 20
	// FrameSlack is what a frame around one entry needs at most. An entry that
	// with it exceeds a server's largest message is refused when it is
	// produced, so that whatever was accepted can be read back.
	FrameSlack = 1 << 10
	// DefaultFrame is how many bytes of entries a frame holds about. A single
	// entry may exceed it.
	DefaultFrame = 1 << 20
)
