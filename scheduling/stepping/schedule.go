package stepping

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/tidemark-engine/tidemark/scheduling"
)

// remembered is how many steps a schedule shows at most.
const remembered = 2000

// history holds the last steps.
type history struct {
	steps int
	last  []step // a ring once it is full
}

// step is one task that ran. It does not keep the task.
type step struct {
	number   int
	lane     string
	work     bool
	inCaller bool
	kind     scheduling.Kind
	what     string
}

func (h *history) add(i *item, inCaller bool) {
	s := step{number: i.number, work: i.lane == nil, inCaller: inCaller, kind: i.kind, what: describe(i.task)}
	if i.lane != nil {
		s.lane = i.lane.name
	}
	if len(h.last) < remembered {
		h.last = append(h.last, s)
	} else {
		h.last[h.steps%remembered] = s
	}
	h.steps++
}

// Steps returns how many tasks were begun.
func (e *Executor) Steps() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.history.steps
}

// Schedule returns what ran, a line each, and what waits. "#7" is the task that
// was handed over as the seventh.
func (e *Executor) Schedule() string {
	var b strings.Builder
	e.mu.Lock()
	if e.random != nil {
		fmt.Fprintf(&b, "seed %d\n", e.seed)
	}
	h := &e.history
	from := max(h.steps-remembered, 0)
	if from > 0 {
		fmt.Fprintf(&b, "%d steps before these\n", from)
	}
	for n := from; n < h.steps; n++ {
		s := h.last[n%remembered]
		fmt.Fprintf(&b, "step %d: #%d ", n+1, s.number)
		if s.work {
			fmt.Fprintf(&b, "work %s\n", s.what)
			continue
		}
		fmt.Fprintf(&b, "lane %q %v %s", s.lane, s.kind, s.what)
		if s.inCaller {
			b.WriteString(" in the caller of Run")
		}
		b.WriteByte('\n')
	}
	e.mu.Unlock()
	for _, q := range e.Queued() {
		fmt.Fprintf(&b, "waits: %v\n", q)
	}
	return b.String()
}

// describe names a task: its type, or the function if it is one.
func describe(task scheduling.Task) string {
	if f, ok := task.(scheduling.TaskFunc); ok {
		if known := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); known != nil {
			name := known.Name()
			return name[strings.LastIndexByte(name, '/')+1:]
		}
	}
	return reflect.TypeOf(task).String()
}
