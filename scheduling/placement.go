package scheduling

import (
	"fmt"
	"strings"
)

// Placement is the completion placement: where a reader's callback runs, which
// decides who pays for dispatch.
type Placement uint8

// The completion placements.
const (
	// PlaceInline runs the callback on the goroutine that completed the read,
	// nested at most [MaxInlineNesting] deep, then on another one.
	PlaceInline Placement = iota
	// PlaceOnExecutor queues the callback on the managed ledger's lane.
	PlaceOnExecutor
)

// MaxInlineNesting is how deep callbacks may nest that start the next read
// themselves. Who calls back counts the nesting, per cursor.
const MaxInlineNesting = 10

// String returns the placement's name in configuration, metrics and reports.
func (p Placement) String() string {
	switch p {
	case PlaceInline:
		return "inline"
	case PlaceOnExecutor:
		return "on-executor"
	}
	return fmt.Sprintf("placement(%d)", uint8(p))
}

// Placements returns all placements, in the order of their names.
func Placements() []Placement { return []Placement{PlaceInline, PlaceOnExecutor} }

// ParsePlacement is the inverse of [Placement.String]. [ErrUnknown].
func ParsePlacement(name string) (Placement, error) {
	var names []string
	for _, p := range Placements() {
		if p.String() == name {
			return p, nil
		}
		names = append(names, p.String())
	}
	return 0, fmt.Errorf("completion placement %q: %w; use one of: %s", name, ErrUnknown, strings.Join(names, ", "))
}
