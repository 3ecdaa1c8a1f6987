// Package readpolicies decides how far one read goes.
//
// A read of up to N entries is made of ledger reads: one for each stretch of
// entries that one ledger can give at once. After each of them the engine asks
// the policy whether the read is complete. A policy is one pure decision over
// values: no goroutine, no clock, no lock. One file a policy, one line in the
// registry.
//
// The engine clamps every answer: a read never goes beyond the last add
// confirmed or the caller's bound, and never ends empty while something is
// readable. A wrong policy can be slow or short, never unsafe.
package readpolicies

// Progress is what a policy may know after one ledger read of an operation.
type Progress struct {
	// Wanted is the number of entries asked for, Collected the number held.
	Wanted, Collected int
	// AtSnapshot says that this ledger read ended at the managed ledger's last
	// add confirmed as of the moment when the ledger read was started, or that
	// the position already lay beyond it.
	AtSnapshot bool
	// MoreConfirmed says that there is something to read at the next position
	// now: it is at or below the live last add confirmed.
	MoreConfirmed bool
	// AtBound says that this ledger read ended at the bound that the caller
	// gave.
	AtBound bool
	// NextLedger says that the next position lies in another ledger than the
	// one just read.
	NextLedger bool
}

// ended says that no policy would go on: nothing is left of what was asked for,
// or of what may be read.
func (p Progress) ended() bool {
	return p.Collected >= p.Wanted || p.AtBound || !p.MoreConfirmed
}

// Decision is a policy's answer.
type Decision uint8

// The answers.
const (
	// Complete hands over what was collected.
	Complete Decision = iota
	// ContinueOnLane queues the next ledger read on the managed ledger's lane.
	ContinueOnLane
	// ContinueHere starts the next ledger read on this goroutine.
	ContinueHere
)

// String returns the decision's name.
func (d Decision) String() string {
	return [...]string{"complete", "continue-on-lane", "continue-here", "invalid"}[min(d, 3)]
}

// Policy is a read-completion policy. Implementations have no state and may be
// used from any goroutine; a topic may change its policy between any two reads.
type Policy interface {
	// Name is the policy's name in configuration, metrics and reports.
	Name() string
	// Decide is asked after each ledger read. It must be a pure function.
	Decide(p Progress) Decision
}
