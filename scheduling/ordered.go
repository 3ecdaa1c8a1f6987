package scheduling

// OrderedExecutor returns the submission strategy "ordered-executor": the start
// of every storage read is queued on the managed ledger's lane. A read starts
// in order with all that the lane does, and behind all that waits there.
func OrderedExecutor() Strategy { return orderedExecutor{} }

type orderedExecutor struct{}

func (orderedExecutor) Name() string { return "ordered-executor" }

func (orderedExecutor) Submit(lane Lane, _ Handle, start Task) error {
	return lane.Post(KindReadStart, start)
}
