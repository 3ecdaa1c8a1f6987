package scheduling

import (
	"errors"
	"fmt"
	"log/slog"
)

// PoolConfig sizes a [Pool]. Begin with [DefaultPoolConfig].
type PoolConfig struct {
	// Drainers is how many goroutines run the tasks of lanes, at most; 0 means
	// GOMAXPROCS.
	Drainers int
	// Workers is how many tasks of Go run at a time, at most. It is the number
	// of blocking calls wanted in parallel.
	Workers int

	// MaxWaitingPerLane and MaxWaiting bound the tasks that were posted and
	// have not ended, on one lane and on all together. A waiting task costs 32
	// bytes beside itself.
	MaxWaitingPerLane int
	MaxWaiting        int
	// MaxQueuedWork bounds the tasks of Go that wait for a goroutine.
	MaxQueuedWork int

	// ProfileLabels marks CPU profiles with the lane and kind of what runs
	// (labels "lane" and "task"). It costs some 50 ns a turn from one kind or
	// lane to another, and replaces the labels of a goroutine that calls
	// [Lane.Run].
	ProfileLabels bool

	// Logger hears of panics, once each and with the stack; nil drops that.
	Logger *slog.Logger
}

// DefaultPoolConfig returns what suits a program that has a machine to itself.
func DefaultPoolConfig() PoolConfig {
	return PoolConfig{
		Workers:           128,
		MaxWaitingPerLane: 1 << 17,
		MaxWaiting:        1 << 21,
		MaxQueuedWork:     1 << 16,
	}
}

// Validate reports all that is wrong, each with its field.
func (c PoolConfig) Validate() error {
	var problems []error
	for _, field := range []struct {
		name       string
		value, low int
	}{
		{"Drainers", c.Drainers, 0},
		{"Workers", c.Workers, 1},
		{"MaxWaitingPerLane", c.MaxWaitingPerLane, 1},
		{"MaxWaiting", c.MaxWaiting, 1},
		{"MaxQueuedWork", c.MaxQueuedWork, 0},
	} {
		if field.value < field.low {
			problems = append(problems, fmt.Errorf("scheduling: PoolConfig.%s: %d is below %d", field.name, field.value, field.low))
		}
	}
	return errors.Join(problems...)
}
