package managedledger

import (
	"errors"
	"fmt"
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

	// StoreTimeout is how long one call of the store or the metadata store may
	// take, and how long an append may stay unanswered before its ledger is
	// given up; 0 means for ever.
	StoreTimeout time.Duration

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

// DefaultConfig returns what suits most logs: everything is kept until it was
// consumed, reads complete at the LAC, start in the caller and call back where
// they end.
func DefaultConfig() Config {
	return Config{
		MaxEntriesPerLedger: 50_000,
		MaxBytesPerLedger:   100 << 20,
		MaxLedgerAge:        4 * time.Hour,
		MaxEntryBytes:       5 << 20,
		MaxPendingEntries:   100_000,
		MaxPendingBytes:     64 << 20,
		StoreTimeout:        time.Minute,
		ReadPolicy:          readpolicies.CompleteAtLAC(),
		Submission:          scheduling.Direct(),
		Placement:           scheduling.PlaceInline,
		MaxAckRanges:        10_000,
	}
}

// Validate says all that is wrong with the choices.
func (c *Config) Validate() error {
	var problems []error
	wrong := func(is bool, text string, value any) {
		if is {
			problems = append(problems, fmt.Errorf("%w: %s, not %v", sdk.ErrInvalid, text, value))
		}
	}
	wrong(c.MaxEntriesPerLedger < 0, "MaxEntriesPerLedger must be 0 (no limit) or more", c.MaxEntriesPerLedger)
	wrong(c.MaxBytesPerLedger < 0, "MaxBytesPerLedger must be 0 (no limit) or more", c.MaxBytesPerLedger)
	wrong(c.MaxLedgerAge < 0, "MaxLedgerAge must be 0 (no limit) or more", c.MaxLedgerAge)
	wrong(c.MinLedgerAge < 0, "MinLedgerAge must be 0 or more", c.MinLedgerAge)
	wrong(c.RetentionBytes < -1, "RetentionBytes must be -1 (no limit) or more", c.RetentionBytes)
	wrong(c.RetentionTime < -1, "RetentionTime must be -1 (no limit) or more", c.RetentionTime)
	wrong(c.MaxEntryBytes < 1, "MaxEntryBytes must be 1 or more", c.MaxEntryBytes)
	wrong(c.MaxPendingEntries < 1, "MaxPendingEntries must be 1 or more", c.MaxPendingEntries)
	wrong(c.MaxPendingBytes < 1, "MaxPendingBytes must be 1 or more", c.MaxPendingBytes)
	wrong(c.StoreTimeout < 0, "StoreTimeout must be 0 (no limit) or more", c.StoreTimeout)
	wrong(c.ReadPolicy == nil, "ReadPolicy must be given", c.ReadPolicy)
	wrong(c.Submission == nil, "Submission must be given", c.Submission)
	wrong(c.MaxAckRanges < 0, "MaxAckRanges must be 0 or more", c.MaxAckRanges)
	return errors.Join(problems...)
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
