package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/scheduling"
)

// Config is what an operator chooses for an engine. Begin with
// [DefaultConfig]. [Engine.Configure] changes it while the engine runs.
type Config struct {
	// Topic holds the settings of topics that do not override them.
	Topic TopicConfig
	// Cache bounds the entry cache and the storage reads in flight.
	Cache entrycache.Config
	// Scheduler sizes the pool that the engine makes when it was given no
	// executor. It cannot change while the engine runs.
	Scheduler scheduling.PoolConfig

	// MaintenanceInterval is how often each topic is looked after: age roll,
	// removal by retention time, stuck operations.
	MaintenanceInterval time.Duration

	// MaxTopics bounds the topics there are.
	MaxTopics int
	// MaxProducersPerTopic bounds the named producers that a topic remembers;
	// beyond it the one that stored nothing for longest is forgotten, and a
	// late repetition by it is stored again.
	MaxProducersPerTopic int
	// ProducerSnapshotEntries is after how many entries by named producers what
	// is known of them is stored anew. It bounds what a recovery has to read.
	ProducerSnapshotEntries int
}

// DefaultConfig returns what suits a program that has a machine to itself.
func DefaultConfig() Config {
	return Config{
		Topic:                   DefaultTopicConfig(),
		Cache:                   entrycache.DefaultConfig(),
		Scheduler:               scheduling.DefaultPoolConfig(),
		MaintenanceInterval:     time.Second,
		MaxTopics:               100_000,
		MaxProducersPerTopic:    10_000,
		ProducerSnapshotEntries: 100_000,
	}
}

// Validate reports all that is wrong with the engine's own values and those of
// topics, each with its name. [ErrInvalidSetting].
func (c Config) Validate() error {
	problems := []error{c.Topic.Validate()}
	atLeast := func(name string, value, low int) {
		if value < low {
			problems = append(problems, fmt.Errorf("%w: %s: %d is below %d", ErrInvalidSetting, name, value, low))
		}
	}
	if c.MaintenanceInterval < time.Millisecond {
		problems = append(problems, fmt.Errorf("%w: maintenance-interval: %v is below 1ms", ErrInvalidSetting, c.MaintenanceInterval))
	}
	atLeast("max-topics", c.MaxTopics, 1)
	atLeast("max-producers-per-topic", c.MaxProducersPerTopic, 1)
	atLeast("producer-snapshot-entries", c.ProducerSnapshotEntries, 1)
	return errors.Join(problems...)
}
