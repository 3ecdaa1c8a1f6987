package scheduling

import "time"

// LaneStats is what a lane measured since it was made.
type LaneStats struct {
	// Queued is the number of tasks waiting now.
	Queued int
	// ByKind holds the sums of each kind of task.
	ByKind [KindCount]KindStats
}

// KindStats are sums over the tasks of one kind. Waited runs from taking a
// task to its start; Busy from its start to its end.
type KindStats struct {
	Tasks        int64
	Waited, Busy time.Duration
}
