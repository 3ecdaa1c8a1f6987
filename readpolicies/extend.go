package readpolicies

// ExtendOnExecutor returns the policy "extend-on-executor": a read goes on,
// by way of the managed ledger's lane, until it has as many entries as were
// asked for or nothing more is confirmed. At the tail it is extended by what was
// confirmed meanwhile: large results, each hop queued behind the adds.
func ExtendOnExecutor() Policy { return extendOnExecutor{} }

type extendOnExecutor struct{}

func (extendOnExecutor) Name() string { return "extend-on-executor" }

func (extendOnExecutor) Decide(p Progress) Decision {
	if p.ended() {
		return Complete
	}
	return ContinueOnLane
}
