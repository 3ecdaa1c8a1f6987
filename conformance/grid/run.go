package grid

import (
	"testing"

	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
)

// kase is one edge case.
type kase struct {
	name string
	// sentence is what must hold.
	sentence string
	run      func(b *bed)
}

// Run runs all cases on a store under every choice.
func Run(t *testing.T, store Store, policies *readpolicies.Registry, strategies *scheduling.Registry) {
	for _, choice := range Choices(policies, strategies) {
		t.Run(store.Name+"/"+choice.String(), func(t *testing.T) {
			for _, c := range cases() {
				t.Run(c.name, func(t *testing.T) {
					defer func() {
						if t.Failed() {
							t.Logf("broken: %s", c.sentence)
						}
					}()
					c.run(newBed(t, store, choice))
				})
			}
		})
	}
}

// cases returns all cases. Those with a number are the edge cases of the
// managed ledger's description.
func cases() []kase {
	var all []kase
	for _, part := range [][]kase{ledgerCases(), ackCases(), boundCases(), failureCases(), moveCases(), tailCases()} {
		all = append(all, part...)
	}
	return all
}
