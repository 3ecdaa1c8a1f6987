package scheduling

import "github.com/tidemark-engine/tidemark/scheduling/internal/callers"

// insideTask says whether the calling goroutine is in a task of a lane. It
// walks the stack, so it is for Close only: whoever closes a lane from one of
// its tasks would wait for itself.
func insideTask() bool { return callers.Include(drainerRun, strandAttempt) }

// insideWork says the same of tasks of Go.
func insideWork() bool { return callers.Include(workRun) }

// The functions that call a task. If one of them gets another name, the tests
// that close from a task fail.
const (
	drainerRun    = "github.com/tidemark-engine/tidemark/scheduling.(*drainer).run"
	strandAttempt = "github.com/tidemark-engine/tidemark/scheduling.(*strand).attempt"
	workRun       = "github.com/tidemark-engine/tidemark/scheduling.(*work).run"
)
