package client

import (
	"slices"

	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// passing says whether an error is of the kind that goes away by itself, so
// that trying again within some time makes sense.
func passing(err error) bool {
	return slices.Contains([]reason.Reason{
		reason.Unavailable, reason.Closed, reason.Busy, reason.OwnerLost, reason.Fenced, reason.UnknownOutcome, reason.ProducerSequence,
	}, reason.Of(err))
}
