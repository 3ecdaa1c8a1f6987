package sdk

import "errors"

// The errors of a store, grouped by when they occur. A store wraps one of
// them with what happened and where; callers tell them apart with errors.Is,
// also after the error crossed a process border.
var (
	// Asked for something that is not there.

	// ErrLedgerNotFound says that no such ledger exists: never created, or
	// deleted. A store says so only when it knows.
	ErrLedgerNotFound = errors.New("ledger not found")
	// ErrEntryNotFound says that the ledger ends before that entry. A store
	// says so only when it knows; an entry that should be there and cannot be
	// read is ErrCorrupt or ErrUnavailable. Recovery relies on the difference.
	ErrEntryNotFound = errors.New("entry not found")
	// ErrKeyNotFound says that the metadata store holds no such key.
	ErrKeyNotFound = errors.New("key not found")

	// Not allowed, or no longer.

	// ErrFenced says that somebody else opened the ledger with recovery. This
	// writer will never add to it again.
	ErrFenced = errors.New("ledger fenced")
	// ErrClosed says that the ledger, handle or store was closed before the
	// call. Nothing was done.
	ErrClosed = errors.New("closed")
	// ErrVersionConflict says that a metadata key has another version than
	// expected: somebody else wrote it, so somebody else owns what it
	// describes. Nothing was written.
	ErrVersionConflict = errors.New("version conflict")
	// ErrUnsupported says that the store does not have that ability and does
	// not declare it. It equals errors.ErrUnsupported for errors.Is.
	ErrUnsupported = errors.ErrUnsupported
	// ErrInvalid says that the call itself makes no sense: a range whose end
	// is before its start, a batch that leaves a gap.
	ErrInvalid = errors.New("invalid argument")

	// Refused by a limit. Nothing was written.

	// ErrTooLarge says that an entry, batch or value is larger than the limit
	// that the message names.
	ErrTooLarge = errors.New("too large")
	// ErrFull says that there is no room on the medium. Adds work again once
	// there is.
	ErrFull = errors.New("no space left")
	// ErrBusy says that a limit on waiting or pending work is reached. Try
	// again once some of it has ended.
	ErrBusy = errors.New("too much pending work")

	// Went wrong.

	// ErrCorrupt says that stored bytes are damaged. It is never taken for the
	// end of a ledger.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnavailable says that the store cannot be reached or cannot serve
	// now, and that nothing was done. Trying again later may help.
	ErrUnavailable = errors.New("store unavailable")
	// ErrUnknownOutcome says that an add may or may not have been written.
	// Only opening the ledger with recovery tells.
	ErrUnknownOutcome = errors.New("outcome unknown")
)
