package scheduling

// Handle is the kind of ledger handle that a storage read goes to.
type Handle uint8

// The kinds of handle.
const (
	// HandleClosed reads a ledger that will never change.
	HandleClosed Handle = iota
	// HandleWritable reads the open ledger. Its reads are bounded by the
	// managed ledger's last add confirmed, taken before.
	HandleWritable
)

// Strategy is a submission strategy: it picks where the task that starts a
// storage read runs. Implementations have no state and may be used from any
// goroutine; a topic may change its strategy between any two reads.
type Strategy interface {
	// Name is the strategy's name in configuration, metrics and reports.
	Name() string
	// Submit runs start or sees to it that it runs, exactly once; if it returns
	// an error, never. It does not wait for start unless it runs it itself.
	// lane is the managed ledger's lane; the caller may be one of its tasks.
	// Errors are those of the lane. A panic of start reaches its Failed, as on a
	// lane ([RunHere]).
	Submit(lane Lane, handle Handle, start Task) error
}
