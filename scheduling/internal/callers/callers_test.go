package callers

import "testing"

const self = "github.com/tidemark-engine/tidemark/scheduling/internal/callers."

// deep calls f with n frames between.
func deep(n int, f func() bool) bool {
	if n == 0 {
		return f()
	}
	return deep(n-1, f)
}

func TestInclude(t *testing.T) {
	for _, between := range []int{0, 1, 60, 61, 62, 63, 64, 65, 500} {
		if !deep(between, func() bool { return Include(self+"none", self+"TestInclude") }) {
			t.Errorf("%d frames below TestInclude: not found", between)
		}
		if deep(between, func() bool { return Include(self + "TestOther") }) {
			t.Errorf("%d frames below TestInclude: found a function that did not call", between)
		}
	}
	found := make(chan bool)
	go func() { found <- Include(self + "TestInclude") }()
	if <-found {
		t.Error("found a caller of another goroutine")
	}
}
