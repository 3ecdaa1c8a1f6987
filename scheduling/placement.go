package scheduling

// Placement is the completion placement: where a reader's callback runs.
type Placement uint8

const (
	// PlaceInline runs the callback on the goroutine that completed the read,
	// nested at most [MaxInlineNesting] deep, then on another one.
	PlaceInline Placement = iota
	// PlaceOnExecutor queues the callback on the managed ledger's lane.
	PlaceOnExecutor
)

// MaxInlineNesting is how deep callbacks may nest that start the next read
// themselves.
const MaxInlineNesting = 10
