package managedledger

// State is where a managed ledger is in its life.
type State uint8

// The states. Adds are taken in the first four and sent as soon as a ledger
// is open; reads work in all but Fenced, Closed and Deleting.
const (
	// StateOpen takes adds. The ledger for them is made by the first one, so
	// that a log that nobody writes to costs the store nothing.
	StateOpen State = iota
	// StateSealing is settling a ledger that is full or that failed.
	StateSealing
	// StateCreating is waiting for a new ledger.
	StateCreating
	// StateWriteFailed could not get a new ledger; the next add tries again.
	StateWriteFailed
	// StateTerminated is sealed for writing for ever, and readable.
	StateTerminated
	// StateFenced has lost the log to another owner.
	StateFenced
	// StateDeleting is being deleted.
	StateDeleting
	// StateClosed was closed by its owner.
	StateClosed
)

// String returns the state's name as it stands in descriptions and metrics.
func (s State) String() string {
	return [...]string{
		"open", "sealing", "creating", "write-failed", "terminated",
		"fenced", "deleting", "closed", "invalid",
	}[min(s, StateClosed+1)]
}

// readable says whether reads may go on in this state.
func (s State) readable() bool {
	return s != StateFenced && s != StateDeleting && s != StateClosed
}
