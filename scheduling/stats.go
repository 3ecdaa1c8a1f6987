package scheduling

import "time"

// LaneStats is what a lane measured since it was made.
type LaneStats struct {
	// Queued is the number of tasks that were taken and have not ended. A
	// drainer tells the lane of what ended in groups, at the latest at the end
	// of its turn: some 300 tasks that ended just now may be counted still.
	Queued int
	// ByKind holds the sums of each kind of task that ended, as far as the lane
	// was told.
	ByKind [KindCount]KindStats
}

// KindStats are sums over the tasks of one kind. Times are wall-clock times.
type KindStats struct {
	Tasks int64
	// Waited runs from taking a task to its start. It is measured on one queued
	// task in eight, at random, and scaled to all of them; a task that its
	// caller ran at once waited for nothing.
	Waited time.Duration
	// Busy runs from the start of a task to its end, and is exact up to the
	// few nanoseconds between one task and the next. A task of another lane that
	// a task runs by Run is in the time of both.
	Busy time.Duration
}
