package grid

import (
	"fmt"

	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Store is what a grid runs on. Its cases share it; each has a log of its own.
type Store struct {
	Name     string
	Ledgers  sdk.LedgerStore
	Metadata sdk.MetadataStore
	Info     sdk.Info
}

// Choice is one point of the grid.
type Choice struct {
	Policy    readpolicies.Policy
	Strategy  scheduling.Strategy
	Placement scheduling.Placement
	Cache     bool
}

// String names the point as a test does.
func (c Choice) String() string {
	cache := "cached"
	if !c.Cache {
		cache = "uncached"
	}
	return fmt.Sprintf("%s/%s/%s/%s", c.Policy.Name(), c.Strategy.Name(), c.Placement, cache)
}

// Choices returns the whole grid over two registries.
func Choices(policies *readpolicies.Registry, strategies *scheduling.Registry) []Choice {
	var all []Choice
	for _, policy := range policies.All() {
		for _, strategy := range strategies.All() {
			for _, placement := range scheduling.Placements() {
				for _, cache := range []bool{true, false} {
					all = append(all, Choice{policy, strategy, placement, cache})
				}
			}
		}
	}
	return all
}
