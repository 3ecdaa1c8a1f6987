package main

import (
	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
)

// choices are the names that the configuration may choose from and that only
// the registries know.
func choices() map[string][]string {
	var placements []string
	for _, p := range scheduling.Placements() {
		placements = append(placements, p.String())
	}
	return map[string][]string{
		"topics.read-policy": readpolicies.Builtin().Names(),
		"topics.submission":  scheduling.Builtin().Names(),
		"topics.placement":   placements,
	}
}
