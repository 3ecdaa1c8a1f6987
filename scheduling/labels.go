package scheduling

import (
	"context"
	"runtime/pprof"
)

// labels are the profile labels of a lane, one context a kind. They never
// change.
type labels [KindCount]context.Context

func newLabels(lane string) *labels {
	all := new(labels)
	for kind := range all {
		all[kind] = pprof.WithLabels(context.Background(), pprof.Labels("lane", lane, "task", Kind(kind).String()))
	}
	return all
}

// set marks the calling goroutine.
func (l *labels) set(kind Kind) { pprof.SetGoroutineLabels(l[kind]) }

// unset takes the marks away.
func unset() { pprof.SetGoroutineLabels(context.Background()) }
