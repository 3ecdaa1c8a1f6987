package readpolicies

// CompleteAtLAC returns the policy "complete-at-lac": a read that has entries
// and came to the last add confirmed, as of the start of its ledger read, is
// complete, whatever was confirmed meanwhile; the next read fetches that. Short
// of it, at a gap or the end of a ledger, and as long as it has nothing to hand
// over, it goes on like extend-on-executor.
func CompleteAtLAC() Policy { return completeAtLAC{} }

type completeAtLAC struct{}

func (completeAtLAC) Name() string { return "complete-at-lac" }

func (completeAtLAC) Decide(p Progress) Decision {
	if p.ended() || p.Collected > 0 && p.AtSnapshot {
		return Complete
	}
	return ContinueOnLane
}
