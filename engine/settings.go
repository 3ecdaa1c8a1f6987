package engine

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/tidemark-engine/tidemark/engine/quantity"
)

// setting is one setting of a topic: its key and how it is read from text,
// written as text, and checked.
type setting struct {
	key   string
	show  func(*TopicConfig) string
	parse func(c *TopicConfig, text string) error
	check func(*TopicConfig) error
}

// topicSettings lists all settings of a topic.
func topicSettings() []setting {
	return []setting{
		count("max-entries-per-ledger", 0, math.MaxInt64, func(c *TopicConfig) *int64 { return &c.MaxEntriesPerLedger }),
		size("max-size-per-ledger", 0, func(c *TopicConfig) *int64 { return &c.MaxBytesPerLedger }),
		duration("max-ledger-age", 0, func(c *TopicConfig) *time.Duration { return &c.MaxLedgerAge }),
		duration("min-ledger-age", 0, func(c *TopicConfig) *time.Duration { return &c.MinLedgerAge }),
		size("retention-size", quantity.Unlimited, func(c *TopicConfig) *int64 { return &c.RetentionBytes }),
		duration("retention-time", quantity.Unlimited, func(c *TopicConfig) *time.Duration { return &c.RetentionTime }),
		size("max-entry-size", 1, func(c *TopicConfig) *int64 { return &c.MaxEntryBytes }),
		count("max-pending-entries", 1, math.MaxInt32, func(c *TopicConfig) *int64 { return &c.MaxPendingEntries }),
		size("max-pending-size", 1, func(c *TopicConfig) *int64 { return &c.MaxPendingBytes }),
		name("read-policy", func(c *TopicConfig) *string { return &c.ReadPolicy }),
		name("submission", func(c *TopicConfig) *string { return &c.Submission }),
		name("placement", func(c *TopicConfig) *string { return &c.Placement }),
		count("max-ack-ranges", 1, math.MaxInt32, func(c *TopicConfig) *int64 { return &c.MaxAckRanges }),
		flag("skip-lost-ledgers", func(c *TopicConfig) *bool { return &c.SkipLostLedgers }),
	}
}

// SettingKeys returns the keys of all settings of a topic, in the order in
// which people should see them.
func SettingKeys() []string {
	var keys []string
	for _, s := range topicSettings() {
		keys = append(keys, s.key)
	}
	return keys
}

// count is a setting that is a whole number from low to high.
func count(key string, low, high int64, field func(*TopicConfig) *int64) setting {
	return setting{
		key:  key,
		show: func(c *TopicConfig) string { return strconv.FormatInt(*field(c), 10) },
		parse: func(c *TopicConfig, text string) error {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return fmt.Errorf("%q is not a whole number, for instance 50000", text)
			}
			*field(c) = n
			return nil
		},
		check: func(c *TopicConfig) error {
			if n := *field(c); n < low || n > high {
				return fmt.Errorf("%d is not from %d to %d", n, low, high)
			}
			return nil
		},
	}
}

// size is a setting in bytes, at least low.
func size(key string, low int64, field func(*TopicConfig) *int64) setting {
	return setting{
		key:  key,
		show: func(c *TopicConfig) string { return quantity.FormatSize(*field(c)) },
		parse: func(c *TopicConfig, text string) error {
			n, err := quantity.ParseSize(text)
			if err == nil {
				*field(c) = n
			}
			return err
		},
		check: func(c *TopicConfig) error {
			if n := *field(c); n < low {
				return fmt.Errorf("%s is below %s", quantity.FormatSize(n), quantity.FormatSize(low))
			}
			return nil
		},
	}
}

// duration is a setting that is a time span, at least low.
func duration(key string, low time.Duration, field func(*TopicConfig) *time.Duration) setting {
	return setting{
		key:  key,
		show: func(c *TopicConfig) string { return quantity.FormatDuration(*field(c)) },
		parse: func(c *TopicConfig, text string) error {
			d, err := quantity.ParseDuration(text)
			if err == nil {
				*field(c) = d
			}
			return err
		},
		check: func(c *TopicConfig) error {
			if d := *field(c); d < low {
				return fmt.Errorf("%s is below %s", quantity.FormatDuration(d), quantity.FormatDuration(low))
			}
			return nil
		},
	}
}

// name is a setting that is one of a registry's names, checked there.
func name(key string, field func(*TopicConfig) *string) setting {
	return setting{
		key:  key,
		show: func(c *TopicConfig) string { return *field(c) },
		parse: func(c *TopicConfig, text string) error {
			*field(c) = text
			return nil
		},
		check: func(c *TopicConfig) error {
			if *field(c) == "" {
				return errors.New("no name given")
			}
			return nil
		},
	}
}

// flag is a setting that is true or false.
func flag(key string, field func(*TopicConfig) *bool) setting {
	return setting{
		key:  key,
		show: func(c *TopicConfig) string { return strconv.FormatBool(*field(c)) },
		parse: func(c *TopicConfig, text string) error {
			switch text {
			case "true", "false":
				*field(c) = text == "true"
				return nil
			}
			return fmt.Errorf("%q is neither true nor false", text)
		},
		check: func(*TopicConfig) error { return nil },
	}
}
