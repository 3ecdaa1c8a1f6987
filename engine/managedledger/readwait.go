package managedledger

import (
	"errors"

	"github.com/tidemark-engine/tidemark/scheduling"
)

// park has the read wait for the LAC to move. True means that there is
// something to read after all.
func (op *readOp) park() (more bool) {
	r, pos, upTo := op.r, op.pos, op.options.UpTo
	lane := r.laneFor(op)
	r.mu.Lock()
	switch {
	case op.abandoned:
		r.mu.Unlock()
		return false
	case op.epoch != r.epoch:
		r.mu.Unlock()
		return true
	case op.cancelled:
		r.mu.Unlock()
		return op.end(nil)
	}
	if r.lane == nil {
		r.lane = lane
	}
	r.parked = true
	r.parks++
	ticket := r.parks
	if !r.registered {
		r.registered = true
		r.m.waiters.add(r)
	}
	r.mu.Unlock()

	// From here the read belongs to whoever wakes it. What was confirmed before
	// the reader was registered has woken nobody, so look again.
	v := r.m.current()
	next, _ := v.start(pos)
	confirmed := v.readable(next)
	ended := !v.state.readable() || v.state == StateTerminated && !confirmed
	if !ended && (!confirmed || upTo != nil && next.After(*upTo)) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.parked || r.parks != ticket {
		return false
	}
	r.parked = false
	r.unregister()
	op.restart()
	return true
}

// laneFor returns the reader's own lane, made if a read with a callback is to
// wait for the first time.
func (r *reader) laneFor(op *readOp) scheduling.Lane {
	if op.done == nil {
		return nil
	}
	r.mu.Lock()
	lane := r.lane
	r.mu.Unlock()
	if lane == nil {
		lane = r.m.settings.Executor.NewLane(r.label)
	}
	return lane
}

// unregister takes the reader from the log's waiters. Called with mu.
func (r *reader) unregister() {
	if r.registered && r.m.waiters.remove(r) {
		r.registered = false
	}
}

// wake implements waiter: it has the parked read go on.
func (r *reader) wake() {
	r.mu.Lock()
	r.registered = false
	r.rouse()
}

// rouse has the parked read go on elsewhere: where somebody waits for it, or on
// the reader's lane. It is called with mu and releases it.
func (r *reader) rouse() {
	if !r.parked {
		r.mu.Unlock()
		return
	}
	op, lane, waited := r.op, r.lane, r.op.done == nil
	r.mu.Unlock()
	if waited {
		op.tell()
		return
	}
	if err := lane.Post(scheduling.KindWake, (*wakeUp)(r)); err != nil && !errors.Is(err, scheduling.ErrClosed) {
		r.m.elsewhere((*wakeUp)(r))
	}
}

// wakeUp is the task that goes on with a read that was parked.
type wakeUp reader

func (t *wakeUp) Run() {
	r := (*reader)(t)
	r.mu.Lock()
	op := r.op
	if !r.parked || op == nil || op.done == nil {
		r.mu.Unlock()
		return
	}
	r.parked = false
	op.restart()
	r.mu.Unlock()
	op.mayBlock = false
	op.proceed()
}

// cancelWait takes a parked read away. True means that its callback is never
// called; false that it was called or will be, without waiting further.
func (r *reader) cancelWait() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	op := r.op
	switch {
	case op == nil || op.done == nil:
		return false
	case !r.parked:
		op.cancelled = true
		return false
	}
	r.parked = false
	r.op = nil
	op.forget()
	r.spare = op
	r.unregister()
	return true
}
