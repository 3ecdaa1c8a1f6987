package reason

import (
	"errors"

	"github.com/tidemark-engine/tidemark/sdk"
)

// The errors of topics, cursors and producers. Whoever returns one wraps it
// with what happened, where, and what to do.
var (
	// ErrTopicNotFound says that no topic has that name: never created, or
	// deleted.
	ErrTopicNotFound = errors.New("topic not found")
	// ErrTopicExists says that a topic of that name exists with other options.
	ErrTopicExists = errors.New("topic exists with other options")
	// ErrTerminated says that the topic was terminated: it takes no more
	// entries, for ever, and can be read.
	ErrTerminated = errors.New("topic terminated")
	// ErrTopicLimit says that the engine has as many topics as its settings
	// allow.
	ErrTopicLimit = errors.New("too many topics")
	// ErrOwnerLost says that another process opened the topic and owns it now,
	// or that this one cannot be sure any more that it does. Opening the topic
	// again takes it back.
	ErrOwnerLost = special("topic is owned by another process", sdk.ErrFenced)

	// ErrCursorNotFound says that the topic has no cursor of that name.
	ErrCursorNotFound = errors.New("cursor not found")
	// ErrCursorExists says that the topic has a cursor of that name already.
	ErrCursorExists = errors.New("cursor exists")
	// ErrReadInFlight says that the cursor is reading already. One ordinary
	// read at a time.
	ErrReadInFlight = errors.New("a read of this cursor is in flight")
	// ErrNoMoreEntries says that a terminated topic was read to its end.
	ErrNoMoreEntries = errors.New("no more entries")
	// ErrPositionInvalid says that a position is not one that the call can use,
	// for instance an acknowledgement of an entry that does not exist.
	ErrPositionInvalid = special("position not usable here", sdk.ErrInvalid)

	// ErrProducerReplaced says that a newer session of the same producer name
	// was opened. This one is over.
	ErrProducerReplaced = errors.New("producer replaced by a newer session")
	// ErrProducerSequence says that sequence ids do not rise, or that one that
	// failed was not sent again before later ones.
	ErrProducerSequence = errors.New("producer sequence out of order")

	// ErrInvalidName says that a name breaks the rule that the message states.
	ErrInvalidName = special("invalid name", sdk.ErrInvalid)
	// ErrInvalidSetting says that a setting is unknown or its value is not
	// allowed.
	ErrInvalidSetting = special("invalid setting", sdk.ErrInvalid)
)

// specialError is a sentinel that is also a more general one.
type specialError struct {
	text    string
	general error
}

func special(text string, general error) error { return &specialError{text, general} }

func (e *specialError) Error() string { return e.text }
func (e *specialError) Unwrap() error { return e.general }
