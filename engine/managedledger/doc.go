// Package managedledger is the log behind a topic: an ordered list of ledgers,
// the last one open, and the cursors that read it.
//
// One [ManagedLedger] owns its log. Everything that changes it runs on its
// lane, one task at a time; what others may see of it is published as an
// immutable view. Every change of what is stored about it is a compare-and-set:
// a version conflict means that somebody else owns the log, and fences this
// owner.
//
// # An add
//
// Callers put adds in the intake. A lane task takes the whole intake, gives
// positions, and hands one batch to the ledger's writer. The store's answer
// comes back to the lane, which moves the last add confirmed (LAC), puts the
// entries in the cache, wakes who waits, and answers the callers: one step for
// the whole batch each time.
//
// # A change of the log
//
// Rolling, trimming, terminating, properties and closing are jobs: one at a
// time, begun on the lane, blocking part on the executor, finished on the lane.
// A ledger is made by the first add that needs one, so a log that nobody writes
// to costs the store nothing.
//
// A batch that the store could not store ends its ledger. Recovery tells what is
// in it; what is there is acknowledged where it is, and the rest is sent again,
// in order and before anything newer, to the next ledger. Late answers of the
// old writer change nothing.
//
// # A read
//
// A cursor's read takes what the view and the cache have, or starts a storage
// read where the submission strategy says; after each ledger read the
// read-completion policy says whether to go on, and the placement says where
// the reader's callback runs. Nothing beyond the LAC is ever visible.
package managedledger
