package reason

import (
	"context"
	"errors"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Reason is the name of an error on a wire, in upper case with underscores. It
// is stable: programs compare it.
type Reason string

// The reasons. Internal stands for every error that is not told apart.
const (
	TopicNotFound    Reason = "TOPIC_NOT_FOUND"
	TopicExists      Reason = "TOPIC_EXISTS"
	TopicTerminated  Reason = "TOPIC_TERMINATED"
	TopicLimit       Reason = "TOPIC_LIMIT"
	OwnerLost        Reason = "OWNER_LOST"
	CursorNotFound   Reason = "CURSOR_NOT_FOUND"
	CursorExists     Reason = "CURSOR_EXISTS"
	ReadInFlight     Reason = "READ_IN_FLIGHT"
	NoMoreEntries    Reason = "NO_MORE_ENTRIES"
	PositionInvalid  Reason = "POSITION_INVALID"
	ProducerReplaced Reason = "PRODUCER_REPLACED"
	ProducerSequence Reason = "PRODUCER_SEQUENCE"
	InvalidName      Reason = "INVALID_NAME"
	InvalidSetting   Reason = "INVALID_SETTING"
	LedgerNotFound   Reason = "LEDGER_NOT_FOUND"
	EntryNotFound    Reason = "ENTRY_NOT_FOUND"
	KeyNotFound      Reason = "KEY_NOT_FOUND"
	Fenced           Reason = "FENCED"
	Closed           Reason = "CLOSED"
	VersionConflict  Reason = "VERSION_CONFLICT"
	Unsupported      Reason = "UNSUPPORTED"
	Invalid          Reason = "INVALID_ARGUMENT"
	TooLarge         Reason = "TOO_LARGE"
	Full             Reason = "STORE_FULL"
	Busy             Reason = "BUSY"
	Corrupt          Reason = "CORRUPT"
	Unavailable      Reason = "STORE_UNAVAILABLE"
	UnknownOutcome   Reason = "UNKNOWN_OUTCOME"
	Cancelled        Reason = "CANCELLED"
	DeadlineExceeded Reason = "DEADLINE_EXCEEDED"
	Internal         Reason = "INTERNAL"
)

// pair is one line of the table.
type pair struct {
	reason   Reason
	sentinel error
}

// table pairs reasons and sentinels, the special before the general: an error
// that is several of them gets the first. That an outcome is unknown goes
// before why it is, because whoever retries must know. It is a func because
// the house has no mutable package variables.
func table() [30]pair {
	return [...]pair{
		{UnknownOutcome, sdk.ErrUnknownOutcome},
		{TopicNotFound, ErrTopicNotFound},
		{TopicExists, ErrTopicExists},
		{TopicTerminated, ErrTerminated},
		{TopicLimit, ErrTopicLimit},
		{OwnerLost, ErrOwnerLost},
		{CursorNotFound, ErrCursorNotFound},
		{CursorExists, ErrCursorExists},
		{ReadInFlight, ErrReadInFlight},
		{NoMoreEntries, ErrNoMoreEntries},
		{PositionInvalid, ErrPositionInvalid},
		{ProducerReplaced, ErrProducerReplaced},
		{ProducerSequence, ErrProducerSequence},
		{InvalidName, ErrInvalidName},
		{InvalidSetting, ErrInvalidSetting},
		{LedgerNotFound, sdk.ErrLedgerNotFound},
		{EntryNotFound, sdk.ErrEntryNotFound},
		{KeyNotFound, sdk.ErrKeyNotFound},
		{Fenced, sdk.ErrFenced},
		{Closed, sdk.ErrClosed},
		{VersionConflict, sdk.ErrVersionConflict},
		{Unsupported, sdk.ErrUnsupported},
		{TooLarge, sdk.ErrTooLarge},
		{Full, sdk.ErrFull},
		{Busy, sdk.ErrBusy},
		{Corrupt, sdk.ErrCorrupt},
		{Unavailable, sdk.ErrUnavailable},
		{Invalid, sdk.ErrInvalid},
		{Cancelled, context.Canceled},
		{DeadlineExceeded, context.DeadlineExceeded},
	}
}

// Of returns the reason of err: that of the sentinel it wraps, the most special
// one if there are several; [Internal] if there is none, and "" for nil.
func Of(err error) Reason {
	if err == nil {
		return ""
	}
	var remote *remoteError
	if errors.As(err, &remote) {
		return remote.reason
	}
	for _, p := range table() {
		if errors.Is(err, p.sentinel) {
			return p.reason
		}
	}
	return Internal
}

// Error makes an error that says message and is, for errors.Is, the sentinel of
// r. A reason that this version does not know (a newer server's) makes an error
// that is no sentinel; Of returns its reason all the same.
func Error(r Reason, message string) error {
	if r == "" {
		r = Internal
	}
	e := &remoteError{reason: r, message: message}
	for _, p := range table() {
		if p.reason == r {
			e.sentinel = p.sentinel
		}
	}
	return e
}

// All returns every reason.
func All() []Reason {
	var all []Reason
	for _, p := range table() {
		all = append(all, p.reason)
	}
	return append(all, Internal)
}

// remoteError is an error that crossed a wire.
type remoteError struct {
	reason   Reason
	message  string
	sentinel error // nil if the reason has none
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.sentinel }
