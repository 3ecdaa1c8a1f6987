package managedledger

import (
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// dry is for a read that finds nothing (more) to read. One that has to say what
// is gone says so at once.
func (op *readOp) dry() (more bool) {
	if len(op.entries) > 0 || !op.options.Wait || op.gone {
		return op.end(nil)
	}
	if v := op.r.m.current(); v.state == StateTerminated && !v.readable(op.pos) {
		return op.end(reason.ErrNoMoreEntries)
	}
	return op.park()
}

// end hands the read's end over, where the placement says. An error is dropped
// if there is something to hand over; the next read meets it again.
func (op *readOp) end(err error) (more bool) {
	if len(op.entries) > 0 {
		err = nil
	}
	op.failure = err
	if err == nil && op.done != nil && !op.r.silent && op.config.Placement == scheduling.PlaceOnExecutor &&
		op.r.m.lane.Post(scheduling.KindDispatch, (*dispatch)(op)) == nil {
		return false
	}
	return op.deliver(false)
}

// dispatch is the task that hands a read's end over elsewhere than where it
// came.
type dispatch readOp

func (t *dispatch) Run() {
	op := (*readOp)(t)
	op.mayBlock = false
	if op.deliver(true) {
		op.proceed()
	}
}

// deliver hands the end over here, unless too many callbacks are on the stack
// already. True means that the reader was moved meanwhile and the read goes on.
func (op *readOp) deliver(elsewhere bool) (more bool) {
	r := op.r
	r.mu.Lock()
	switch {
	case op.abandoned:
		r.mu.Unlock()
		return false
	case op.epoch != r.epoch:
		r.mu.Unlock()
		return true
	case op.done != nil && !elsewhere && r.nested.Load() >= scheduling.MaxInlineNesting:
		r.mu.Unlock()
		op.spill()
		return false
	}
	result, err := op.conclude()
	r.op = nil
	if op.done == nil {
		op.result, op.failure, op.ended = result, err, true
		r.mu.Unlock()
		op.tell()
		return false
	}
	done := op.done
	op.forget()
	r.spare = op
	r.mu.Unlock()
	r.nested.Add(1)
	defer r.nested.Add(-1)
	done(result, err)
	return false
}

// conclude moves the reader to where the read has come, and returns its end.
// Called with r.mu.
func (op *readOp) conclude() (ReadResult, error) {
	if op.failure != nil {
		return ReadResult{}, op.failure
	}
	r := op.r
	if op.gone && r.acks != nil {
		r.acks.MoveTo(op.trimmed)
	}
	r.place = op.pos
	result := ReadResult{Entries: op.entries, Next: op.pos, Gone: op.gone}
	if op.gone {
		result.GoneUntil = op.goneUntil
	}
	return result, nil
}

// tell lets who waits look at the read.
func (op *readOp) tell() {
	select {
	case op.signal <- struct{}{}:
	default:
	}
}

// spill has the callback run on another goroutine.
func (op *readOp) spill() { op.r.m.elsewhere((*dispatch)(op)) }

// elsewhere runs a task on another goroutine: one of the executor's or, so that
// it is never lost, one of its own, which ends with the task.
func (m *ManagedLedger) elsewhere(task scheduling.Task) {
	if m.settings.Executor.Go(task) != nil {
		go scheduling.RunHere(task)
	}
}
