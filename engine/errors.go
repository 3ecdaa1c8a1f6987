package engine

import "github.com/tidemark-engine/tidemark/sdk/reason"

// The errors of topics, cursors and producers; those of stores are in package
// sdk. They are the same values as in package sdk/reason, which names them on
// a wire.
var (
	ErrTopicNotFound    = reason.ErrTopicNotFound
	ErrTopicExists      = reason.ErrTopicExists
	ErrTopicLimit       = reason.ErrTopicLimit
	ErrTerminated       = reason.ErrTerminated
	ErrOwnerLost        = reason.ErrOwnerLost
	ErrCursorNotFound   = reason.ErrCursorNotFound
	ErrCursorExists     = reason.ErrCursorExists
	ErrReadInFlight     = reason.ErrReadInFlight
	ErrNoMoreEntries    = reason.ErrNoMoreEntries
	ErrPositionInvalid  = reason.ErrPositionInvalid
	ErrProducerReplaced = reason.ErrProducerReplaced
	ErrProducerSequence = reason.ErrProducerSequence
	ErrInvalidName      = reason.ErrInvalidName
	ErrInvalidSetting   = reason.ErrInvalidSetting
)
