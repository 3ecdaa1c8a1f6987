// Package callers looks at who called.
package callers

import (
	"runtime"
	"slices"
)

// Include says whether one of the functions is on the stack of the calling
// goroutine. Names are as [runtime.Frame] has them. It costs microseconds.
func Include(functions ...string) bool {
	const depth = 64
	var room [depth]uintptr
	for skip := 0; ; skip += depth {
		n := runtime.Callers(skip, room[:])
		frames := runtime.CallersFrames(room[:n])
		for more := n > 0; more; {
			var frame runtime.Frame
			if frame, more = frames.Next(); slices.Contains(functions, frame.Function) {
				return true
			}
		}
		if n < depth {
			return false
		}
	}
}
