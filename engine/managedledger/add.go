package managedledger

import (
	"context"
	"fmt"
	"runtime"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// window is how many batches of one log may be with the store. The store's own
// group commit gathers better than the intake could, because it knows when a
// sync ends; the window only keeps what it holds within bounds. While it is
// full, adds gather in the intake and go as one larger batch.
const window = 64

// Add appends entries and waits until they are acknowledged. The entries of one
// add stand together, in their order. The payloads belong to the managed ledger
// from now on, which does not copy them: nobody changes their bytes.
//
// At the limit of pending adds it waits in line. When ctx ends while it waits
// there nothing was stored; when ctx ends later the error is also
// sdk.ErrUnknownOutcome. If only a part could be stored, the result says which,
// beside the error. It must not be called from a callback of this log.
func (m *ManagedLedger) Add(ctx context.Context, payloads ...[]byte) (AddResult, error) {
	size, err := m.checkAdd(payloads)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return AddResult{}, err
	}
	p, tell, err := m.intake.enter(ctx, payloads, size)
	if tell {
		if m.sentAt.Load() != 0 {
			// The store is busy with earlier batches. Producers that were
			// answered together come back together: let the others put their
			// adds in first, so that all go as one batch.
			runtime.Gosched()
		}
		m.tellLane()
	}
	if err != nil {
		return AddResult{}, err
	}
	select {
	case <-p.batch.done:
	case <-ctx.Done():
		select {
		case <-p.batch.done:
		default:
			return AddResult{}, unknownOutcome(ctx.Err())
		}
	}
	return p.batch.result(p.from, len(payloads))
}

// AddAsync is Add for a caller that does not wait. At the limit it returns
// sdk.ErrBusy; if it returns an error, done is never called. Otherwise done is
// called exactly once, on the lane and under no lock, in the order of the adds.
// It must be quick and must not block.
func (m *ManagedLedger) AddAsync(payloads [][]byte, done func(AddResult, error)) error {
	return m.addAsync(payloads, nil, done)
}

// AddAsyncUnless is AddAsync that takes the add only if no add failed since
// Failures returned failures, and else returns ErrEarlierFailed. With it, adds
// that are on their way together cannot be stored behind one that is missing.
func (m *ManagedLedger) AddAsyncUnless(failures uint64, payloads [][]byte, done func(AddResult, error)) error {
	return m.addAsync(payloads, &failures, done)
}

// Failures counts failures of adds since the log was opened: it rises whenever
// adds fail, before any of them hears of it.
func (m *ManagedLedger) Failures() uint64 {
	m.intake.mu.Lock()
	defer m.intake.mu.Unlock()
	return m.intake.failures
}

func (m *ManagedLedger) addAsync(payloads [][]byte, unless *uint64, done func(AddResult, error)) error {
	size, err := m.checkAdd(payloads)
	if err != nil {
		return err
	}
	tell, err := m.intake.tryEnter(payloads, size, unless, done)
	if tell {
		m.tellLane()
	}
	return err
}

// checkAdd returns the size of an add, or why it cannot be taken at all.
func (m *ManagedLedger) checkAdd(payloads [][]byte) (size int64, err error) {
	if len(payloads) == 0 {
		return 0, fmt.Errorf("%w: an add needs at least one entry", sdk.ErrInvalid)
	}
	limit := m.config().MaxEntryBytes
	if s := m.settings.Store.MaxEntryBytes; s > 0 && (limit <= 0 || s < limit) {
		limit = s
	}
	for i, p := range payloads {
		if limit > 0 && len(p) > limit {
			return 0, fmt.Errorf("%w: entry %d of the add has %d bytes, the limit is %d", sdk.ErrTooLarge, i, len(p), limit)
		}
		size += int64(len(p))
	}
	return size, nil
}

// kick sees to it that the lane looks at the intake.
func (m *ManagedLedger) kick() {
	if m.intake.schedule() {
		m.tellLane()
	}
}

// tellLane makes the lane look at the intake; on this goroutine if it is idle.
// If the lane takes no more tasks, the next add or Maintain tells it again.
func (m *ManagedLedger) tellLane() {
	err := m.lane.Run(scheduling.KindAdd, (*sendTask)(m))
	if err == nil {
		return
	}
	m.intake.unschedule()
	if isClosedLane(err) {
		// Nobody will come: the executor was closed before the log.
		m.intake.close(ErrClosed)
		for _, b := range m.intake.take(nil) {
			m.fail(b, ErrClosed)
		}
	}
}

// sendTask is the lane task that takes the intake.
type sendTask ManagedLedger

// Run is the task.
func (t *sendTask) Run() { (*ManagedLedger)(t).send() }

// send hands what is in the intake to the store, if it can take it now.
// Otherwise it stays there, and whoever makes room calls send again.
func (m *ManagedLedger) send() {
	l := &m.lanes
	if m.refuseAdds() {
		return
	}
	if l.writing == nil {
		if l.stalled = !m.intake.empty(); l.stalled {
			m.needLedger()
		}
		return
	}
	if len(l.resend) > 0 || len(l.writing.sent) >= window {
		l.stalled = true // what waits to be sent again goes first
		return
	}
	l.stalled = false
	l.taken = m.intake.take(l.taken[:0])
	for i, b := range l.taken {
		l.taken[i] = nil
		if l.writing == nil {
			l.resend = append(l.resend, b)
			continue
		}
		l.writing.handOver(b)
	}
	if len(l.resend) > 0 {
		m.needLedger()
	}
}

// refuseAdds answers what is in the intake if nothing is stored any more.
func (m *ManagedLedger) refuseAdds() bool {
	m.intake.mu.Lock()
	err := m.intake.closed
	m.intake.mu.Unlock()
	if err == nil {
		return false
	}
	m.failQueued(err)
	return true
}

// failQueued answers with err all that no store has seen.
func (m *ManagedLedger) failQueued(err error) {
	l := &m.lanes
	l.stalled = false
	// Counted before they are taken: an add that comes in between and follows
	// one of them is among them, or refused.
	m.intake.failed()
	for _, b := range m.intake.take(nil) {
		m.fail(b, err)
	}
}

// fail answers a batch whose remaining entries were not stored, or of which
// that is not known.
func (m *ManagedLedger) fail(b *batch, err error) {
	if b.sent {
		err = unknownOutcome(err)
	}
	b.err = err
	m.intake.failed()
	m.finish(b)
}

// finish gives back the room of a batch and answers it.
func (m *ManagedLedger) finish(b *batch) {
	entries, bytes := len(b.payloads), b.bytes
	b.payloads = nil
	tell := m.intake.release(entries, bytes)
	m.answer(b)
	if tell {
		m.tellLane()
	}
}
