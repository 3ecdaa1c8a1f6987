package managedledger

import (
	"errors"
	"fmt"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// The errors of a managed ledger. Those of the store come through wrapped:
// sdk.ErrTooLarge, sdk.ErrBusy, sdk.ErrFull, sdk.ErrUnavailable, sdk.ErrCorrupt
// and, for an add that may or may not have been stored, sdk.ErrUnknownOutcome.
// Each wraps the sentinel of package reason that gives it a name on a wire.
var (
	// ErrNotFound says that there is no managed ledger of that name.
	ErrNotFound = fmt.Errorf("managed ledger not found: %w", reason.ErrTopicNotFound)
	// ErrExists says that a managed ledger of that name exists already.
	ErrExists = fmt.Errorf("managed ledger exists already: %w", reason.ErrTopicExists)
	// ErrTerminated says that the managed ledger takes no more entries, ever.
	ErrTerminated = fmt.Errorf("managed ledger is terminated: %w", reason.ErrTerminated)
	// ErrFenced says that another owner took the managed ledger over. This one
	// does nothing more; open it again to take it back. It is also
	// sdk.ErrFenced.
	ErrFenced = fmt.Errorf("managed ledger has another owner: %w", reason.ErrOwnerLost)
	// ErrEarlierFailed says that an add was not taken because an earlier one
	// that it was to follow has failed.
	ErrEarlierFailed = errors.New("an earlier add failed")
	// ErrDeleting says that the managed ledger is being or was deleted.
	ErrDeleting = fmt.Errorf("managed ledger is deleted: %w", reason.ErrTopicNotFound)
	// ErrClosed says that this owner closed the managed ledger. It is also
	// sdk.ErrClosed.
	ErrClosed = fmt.Errorf("managed ledger: %w", sdk.ErrClosed)
)

// unknownOutcome says that an add may have been stored, and why it is not
// known.
func unknownOutcome(cause error) error {
	if errors.Is(cause, sdk.ErrUnknownOutcome) {
		return cause
	}
	return fmt.Errorf("%w: %w", sdk.ErrUnknownOutcome, cause)
}
