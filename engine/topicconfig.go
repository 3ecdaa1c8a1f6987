package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/engine/quantity"
	"github.com/tidemark-engine/tidemark/scheduling"
)

// TopicConfig is what an operator chooses for topics. The engine has one for
// all topics; each topic may override single settings of it, see
// [Topic.SetOverrides]. Everything in it takes effect on open topics: an
// operation keeps what it began with, the next one takes the new choice.
//
// Each field's key, as it stands in files, on command lines and in overrides,
// is in its comment.
type TopicConfig struct {
	// MaxEntriesPerLedger (max-entries-per-ledger), MaxBytesPerLedger
	// (max-size-per-ledger) and MaxLedgerAge (max-ledger-age) are when the open
	// ledger rolls; 0 means no such limit.
	MaxEntriesPerLedger int64
	MaxBytesPerLedger   int64
	MaxLedgerAge        time.Duration
	// MinLedgerAge (min-ledger-age) keeps a younger ledger from rolling.
	MinLedgerAge time.Duration

	// RetentionBytes (retention-size) and RetentionTime (retention-time) keep
	// ledgers that every durable cursor has consumed: a ledger goes when it is
	// older than the time or when what would be left is at least the size. 0
	// and 0 removes as soon as consumed; [quantity.Unlimited] keeps without
	// limit in that dimension.
	RetentionBytes int64
	RetentionTime  time.Duration

	// MaxEntryBytes (max-entry-size) is the largest entry that is taken: a
	// message with its key, attributes and a few bytes of encoding.
	MaxEntryBytes int64
	// MaxPendingEntries (max-pending-entries) and MaxPendingBytes
	// (max-pending-size) bound the adds that are not acknowledged.
	MaxPendingEntries int64
	MaxPendingBytes   int64

	// ReadPolicy (read-policy), Submission (submission) and Placement
	// (placement) are the names of the three choices of a read.
	ReadPolicy string
	Submission string
	Placement  string

	// MaxAckRanges (max-ack-ranges) bounds the ranges of individually
	// acknowledged entries that a durable cursor stores.
	MaxAckRanges int64
	// SkipLostLedgers (skip-lost-ledgers) lets readers jump over a ledger that
	// the store does not have any more.
	SkipLostLedgers bool
}

// DefaultTopicConfig returns the settings of a topic of which nothing was said.
// It keeps everything: who wants entries removed says when.
func DefaultTopicConfig() TopicConfig {
	return TopicConfig{
		MaxEntriesPerLedger: 50_000,
		MaxBytesPerLedger:   2 << 30,
		MaxLedgerAge:        4 * time.Hour,
		RetentionBytes:      quantity.Unlimited,
		RetentionTime:       quantity.Unlimited,
		MaxEntryBytes:       5 << 20,
		MaxPendingEntries:   100_000,
		MaxPendingBytes:     64 << 20,
		ReadPolicy:          "complete-at-lac",
		Submission:          "direct",
		Placement:           "inline",
		MaxAckRanges:        10_000,
	}
}

// Validate reports all that is wrong with the plain values, each with its key.
// Whether the names of the choices exist is known to the engine only, which
// checks them when the settings are given to it. [ErrInvalidSetting].
func (c TopicConfig) Validate() error {
	var problems []error
	for _, s := range topicSettings() {
		if err := s.check(&c); err != nil {
			problems = append(problems, fmt.Errorf("%w: %s: %w", ErrInvalidSetting, s.key, err))
		}
	}
	return errors.Join(problems...)
}

// resolve makes the managed ledger's configuration of valid settings.
func (c TopicConfig) resolve(r registries) (managedledger.Config, error) {
	var problems []error
	note := func(key string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%w: %s: %w", ErrInvalidSetting, key, err))
		}
	}
	policy, err := r.policies.Lookup(c.ReadPolicy)
	note("read-policy", err)
	strategy, err := r.strategies.Lookup(c.Submission)
	note("submission", err)
	placement, err := scheduling.ParsePlacement(c.Placement)
	note("placement", err)
	if len(problems) > 0 {
		return managedledger.Config{}, errors.Join(problems...)
	}
	config := managedledger.DefaultConfig()
	config.MaxEntriesPerLedger = c.MaxEntriesPerLedger
	config.MaxBytesPerLedger = c.MaxBytesPerLedger
	config.MaxLedgerAge = c.MaxLedgerAge
	config.MinLedgerAge = c.MinLedgerAge
	config.RetentionBytes = c.RetentionBytes
	config.RetentionTime = c.RetentionTime
	config.MaxEntryBytes = int(c.MaxEntryBytes)
	config.MaxPendingEntries = int(c.MaxPendingEntries)
	config.MaxPendingBytes = c.MaxPendingBytes
	config.ReadPolicy = policy
	config.Submission = strategy
	config.Placement = placement
	config.MaxAckRanges = int(c.MaxAckRanges)
	config.SkipLostLedgers = c.SkipLostLedgers
	return config, nil
}
