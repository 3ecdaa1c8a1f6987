// Package message is what the bytes of an entry mean: an entry is exactly one
// encoded protobuf message tidemark.v1.Message, so that any language decodes
// it with generated code. This package does the same by hand, because it is
// done for every message that goes through: without reflection, and without
// allocating where the destination has room.
//
// Messages travel packed: one behind the other, each with its length before it,
// the delimited form of protobuf.
package message

import "time"

// Message is what a producer publishes and a reader gets.
type Message struct {
	// Payload is the content, Key what related messages have in common. Either
	// may be empty; an empty Key is no key.
	Payload, Key []byte
	// PublishTime is when the server took the message, in nanoseconds of the
	// years 1678 to 2261; the zero time is no time.
	PublishTime time.Time
	// Producer is the name of the producer that gave the Sequence, empty if it
	// has none.
	Producer string
	Sequence uint64
	// Attributes are what else the producer says about the message. They and
	// Producer are text; bytes in them that are no UTF-8 are replaced when the
	// message is encoded, since no other language could decode them.
	Attributes map[string]string
}
