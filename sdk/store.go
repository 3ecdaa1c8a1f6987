package sdk

import "context"

// LedgerStore is where ledgers live: the contract of a storage plugin.
//
// All methods may be called at the same time from many goroutines. Methods
// with a context may block for as long as the medium takes and end early, with
// the context's error, when the context does; with one that has ended they do
// nothing. After Close of the plugin every method fails with [ErrClosed].
//
// While the medium is full, batches and Create fail with [ErrFull]; reads go
// on, and so do, as far as there is room, Seal, recovery and Delete. Once there
// is room adds go on, to new ledgers, without anybody opening the store again.
type LedgerStore interface {
	// Create makes a new, empty, open ledger with an id that this store never
	// gave before, and returns its one writer. When Create has returned, a
	// crash does not lose the ledger. Whoever finds the ledger in List before
	// Create has returned and recovers it fences that writer. [ErrFull],
	// [ErrUnavailable]. If Create fails, or its context ends, a ledger may exist
	// that nobody knows; it is empty and shows in List.
	Create(ctx context.Context, options CreateOptions) (LedgerWriter, error)

	// Open returns a handle for reading. With [OpenRecover] the ledger is
	// first fenced and settled: every add by an earlier writer that was not
	// acknowledged before Open returns fails with [ErrFenced] and never becomes
	// readable, every entry that was acknowledged is there, and the ledger is
	// closed at its last entry. Recovery may be repeated and may run at the
	// same time from several callers; all see the same last entry. If recovery
	// meets damage or a medium that cannot be read it fails with [ErrCorrupt]
	// or [ErrUnavailable] and the ledger is not closed: it is never closed
	// early. Its earlier writer may be fenced all the same. With [OpenRead] nothing is changed; an open ledger shows what was
	// acknowledged when the handle asks. [ErrLedgerNotFound].
	Open(ctx context.Context, id LedgerID, mode OpenMode) (LedgerReader, error)

	// Delete removes the ledger and its entries. A writer that is still at it
	// gets [ErrFenced] or [ErrLedgerNotFound] from then on, also if Delete then
	// fails. Deleting what is not there is [ErrLedgerNotFound]. Reads in flight
	// end with their entries or with [ErrLedgerNotFound]. The room may be given
	// back later. A full medium does not refuse Delete as long as it can be
	// written to at all.
	Delete(ctx context.Context, id LedgerID) error

	// List returns up to limit ids above after, rising; fewer than limit means
	// that there are no more. To begin, pass after = -1. An error is never a
	// short list.
	List(ctx context.Context, after LedgerID, limit int) ([]LedgerID, error)
}

// CreateOptions are the wishes of the creator of a ledger.
type CreateOptions struct {
	// Labels are kept with the ledger for whoever looks after the store, for
	// instance which topic it belongs to. At most 16, each key and value at
	// most 256 bytes. A store may drop them.
	Labels map[string]string
}

// OpenMode says what Open does to a ledger that is still open.
type OpenMode uint8

const (
	// OpenRead leaves the ledger as it is.
	OpenRead OpenMode = iota
	// OpenRecover fences the earlier writer and closes the ledger.
	OpenRecover
)

// LedgerWriter is the one writer of an open ledger, and a reader of it.
//
// Append is called from one goroutine at a time; Close and the methods of
// LedgerReader from any.
type LedgerWriter interface {
	LedgerReader

	// Append hands over the next entries and does not wait for the medium. It
	// may wait for as long as it takes to hand over; a store with a full queue
	// says [ErrBusy] through batch.Done. The next batch may be appended before
	// the former is acknowledged. Entries get the ids batch.First onwards,
	// which must follow the former batch without a gap ([ErrInvalid]).
	//
	// batch.Done is called exactly once, from any goroutine, also before Append
	// returns, and for the batches of a ledger in their order. It must not
	// block. See [Batch].
	//
	// After the first batch that fails, for whatever reason, every later one
	// fails too and nothing of it becomes readable, unless recovery finds it
	// written: the error is then [ErrUnknownOutcome]. Batches behind one with an
	// unknown outcome that were not handed to the medium fail with
	// [ErrUnavailable]. The owner rolls to a new ledger.
	Append(batch Batch)

	// Seal ends writing: it waits until every batch that was handed over is
	// acknowledged or failed, then closes the ledger at its last acknowledged
	// entry and returns that entry's id ([NoEntry] if there is none). What of a
	// failed batch lies beyond it never becomes readable. Later batches fail
	// with [ErrClosed]. Sealing twice, also at once, gives the same answer, and
	// sealing again after a failure or an ended context is how to find out. If
	// somebody else recovered the ledger meanwhile: [ErrFenced]. The handle goes
	// on as a reader.
	Seal(ctx context.Context) (EntryID, error)
}

// Batch is some entries of one ledger, handed over together.
type Batch struct {
	// First is the id of Entries[0].
	First EntryID
	// Entries holds the payloads, at least one. An empty payload is an entry.
	// The store may read them until Done is called, and no longer. Nobody
	// changes them.
	Entries [][]byte
	// Done is told the end of the whole batch, once. Entries up to last
	// (included) are acknowledged: on stable storage as the store defines it.
	// If err is nil, last is the batch's last entry. Otherwise the entries
	// above last (First-1 if there is none) are not acknowledged: not written,
	// or, for [ErrUnknownOutcome], perhaps written.
	Done func(last EntryID, err error)
}

// LedgerReader is a handle for reading one ledger. Its methods may be called
// at the same time from many goroutines.
type LedgerReader interface {
	// ID returns the ledger's id. It does not block.
	ID() LedgerID

	// State returns how far the ledger may be read through this handle, as the
	// handle knows it. It does not block, so on an open ledger it may lag
	// behind the writer; LastConfirmed and Bytes never go down, and once Closed
	// they stay for good.
	State() LedgerState

	// Read starts a read of the entries r.First to r.Last and returns; done is
	// called exactly once, from any goroutine, also before Read returns. A
	// store that declares [Info.BlockingReads] may use the calling goroutine
	// for as long as the medium takes; others only to hand over. Reads are not
	// ordered among each other.
	//
	// done gets the payloads of r.First, r.First+1, ... in order and without a
	// gap: all of the range, or a shorter run from its start when r.MaxBytes
	// was reached (always at least one entry), or an error and no payloads. A
	// range that reaches beyond the last entry of the ledger is
	// [ErrEntryNotFound], but only when that is known; entries that were
	// handed over and not acknowledged count as not there. The payloads belong
	// to whoever gets them. When ctx ends first, done gets its error.
	Read(ctx context.Context, r Range, done func(payloads [][]byte, err error))

	// Close gives the handle up. It does not close the ledger and does not
	// wait for reads in flight, which end by themselves, nor for batches that
	// were handed over, which are told their end as if it were open. Calls
	// afterwards fail with [ErrClosed]; ID and State go on to answer. Closing a
	// writer's handle that was not sealed leaves the ledger open, for recovery.
	// Closing twice is fine.
	Close() error
}

// Range is the entries First to Last, both included, of one ledger.
type Range struct {
	First, Last EntryID
	// MaxBytes cuts the answer by the sum of its payloads' sizes; 0 means no
	// cut. The first entry is always part of the answer.
	MaxBytes int
}

// LedgerState is what a handle knows of its ledger.
type LedgerState struct {
	// LastConfirmed is the last entry that may be read, [NoEntry] if none.
	LastConfirmed EntryID
	// Bytes is the sum of the payload sizes of the entries 0 to LastConfirmed.
	Bytes int64
	// Closed says that the ledger will never have another entry.
	Closed bool
}
