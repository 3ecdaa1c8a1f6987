package managedledger

import (
	"log/slog"
	"time"

	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Config is what an operator chooses for one managed ledger. It may be changed
// while the managed ledger is open: an operation keeps what it began with, the
// next one takes the new choice. The zero value is not useful; begin with
// [DefaultConfig].
type Config struct {
	// MaxEntriesPerLedger, MaxBytesPerLedger and MaxLedgerAge are when the open
	// ledger is full and rolls; 0 means no such limit. A batch is not split, so
	// a ledger may exceed the first two by one batch.
	MaxEntriesPerLedger int64
	MaxBytesPerLedger   int64
	MaxLedgerAge        time.Duration
	// MinLedgerAge keeps a younger ledger from rolling, whatever its size.
	MinLedgerAge time.Duration

	// RetentionBytes and RetentionTime keep ledgers that every durable cursor
	// has consumed: a ledger goes when it is older than the time or when what
	// would be left is at least the size. 0 and 0 removes as soon as consumed;
	// -1 means no limit in that dimension.
	RetentionBytes int64
	RetentionTime  time.Duration

	// MaxEntryBytes is the largest entry that is taken.
	MaxEntryBytes int
	// MaxPendingEntries and MaxPendingBytes bound adds that are not
	// acknowledged. At the limit Add waits and AddAsync says sdk.ErrBusy. An
	// add that is larger than the limit by itself is taken when nothing else
	// is pending.
	MaxPendingEntries int
	MaxPendingBytes   int64

	// ReadPolicy, Submission and Placement are the three choices of a read.
	ReadPolicy readpolicies.Policy
	Submission scheduling.Strategy
	Placement  scheduling.Placement

	// MaxAckRanges bounds the ranges of individually acknowledged entries that
	// a durable cursor stores. What is beyond comes again after a restart; the
	// cursor says so in its stats and once in the log.
	MaxAckRanges int
	// SkipLostLedgers lets a reader jump over a ledger that the store does not
	// have any more. Otherwise such a read fails.
	SkipLostLedgers bool
}

// Settings are what a program passes: the parts that a managed ledger works
// with. All but Log are required.
type Settings struct {
	Ledgers  sdk.LedgerStore
	Metadata sdk.MetadataStore
	// Store says what the ledger store can do.
	Store    sdk.Info
	Executor scheduling.Executor
	Cache    *entrycache.Cache
	// PublishTime reads the publish time out of an entry, for seek and expiry
	// by time; false means that the entry has none.
	PublishTime func(payload []byte) (time.Time, bool)
	// Log gets what an operator should hear of; nil means nothing is logged.
	Log *slog.Logger
}
