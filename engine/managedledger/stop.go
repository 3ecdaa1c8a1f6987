package managedledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// fenceSoon gives the log up, because something that this owner did to its
// stored state met another owner's.
func (m *ManagedLedger) fenceSoon(cause error) {
	m.post(scheduling.KindMetadata, scheduling.TaskFunc(func() { m.fence(cause) }))
}

// fence gives the log up to its other owner, or to who deletes it: nothing is
// written any more, and all who wait hear of it.
func (m *ManagedLedger) fence(cause error) {
	if m.lanes.jobs.stopped != nil {
		return
	}
	err, state := ErrFenced, StateFenced
	if errors.Is(cause, ErrDeleting) {
		err, state = ErrDeleting, StateDeleting
	}
	m.log.Warn("managed ledger lost to another owner", "error", cause)
	m.intake.close(err)
	m.cancel()
	m.publish(func(v *view) { v.state = state }) // before anybody hears of it
	m.stop(err)
	m.waiters.wakeAll()
	m.handles.close(err)
}

// Failed is told that a task of the lane panicked. What it left half done cannot
// be trusted, so this owner gives the log up, and the next one recovers it.
func (w *writing) Failed(err error) { w.m.broken(err) }

// Failed is that of the task that hands adds over.
func (t *sendTask) Failed(err error) { (*ManagedLedger)(t).broken(err) }

func (m *ManagedLedger) broken(err error) {
	m.log.Error("managed ledger gives up after a panic", "error", err)
	taken, finished := m.lanes.taken, m.lanes.finished
	m.lanes.taken, m.lanes.finished = nil, nil
	for _, b := range finished {
		if b != nil {
			m.finish(b)
		}
	}
	m.fence(err)
	for _, b := range taken {
		if b != nil {
			m.fail(b, ErrFenced)
		}
	}
}

// stop ends all jobs but the one that closes, and answers all adds. Those that a
// writer has are left to the closing job if there is one.
func (m *ManagedLedger) stop(err error) {
	l := &m.lanes
	l.jobs.stopped = err
	if !errors.Is(err, ErrClosed) {
		writing := l.writing
		l.writing = nil // what its answers say is no reason to seal it
		m.abandon(writing, err)
		m.abandon(l.old, err)
	}
	for _, b := range l.resend {
		m.fail(b, err)
	}
	l.resend = nil
	m.failQueued(err)
}

// abandon answers the adds that a writer has: it may have stored them, and
// nobody is going to find out for them.
func (m *ManagedLedger) abandon(w *writing, err error) {
	if w == nil {
		return
	}
	if w.failed == nil {
		w.settle()
		w.failed = err
	}
	sent := w.sent
	w.sent = nil
	m.sentAt.Store(0)
	for _, s := range sent {
		if s.refused() {
			s.batch.sent = false
		}
		m.fail(s.batch, err)
	}
}

// refused says whether the store answered that it has not taken the batch.
func (s *sentBatch) refused() bool {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	return s.answered && errors.Is(s.err, sdk.ErrFenced) && !errors.Is(s.err, sdk.ErrUnknownOutcome)
}

// Close ends this owner's work: adds that the store has are waited for, all
// others end with ErrClosed, cursors are written down, the open ledger is sealed,
// and everybody who waits for the log is released. It is bounded by ctx: what is
// not done by then is left for the next owner to recover, and the error says so.
// Closing again waits for the same end. It must not be called from a callback of
// this log.
func (m *ManagedLedger) Close(ctx context.Context) error {
	m.closing.Do(func() {
		m.intake.close(ErrClosed)
		m.cancel()
		release := context.AfterFunc(ctx, m.cancelWork)
		posted := m.post(scheduling.KindMetadata, scheduling.TaskFunc(func() {
			if m.lanes.jobs.stopped == nil {
				m.stop(ErrClosed)
			}
			m.enqueue(&closeJob{m: m, ctx: ctx, release: release})
		}))
		if !posted {
			m.closeErr = fmt.Errorf("close managed ledger %q: its executor was closed before it: %w", m.name, sdk.ErrClosed)
			close(m.closed)
		}
	})
	select {
	case <-m.closed:
	case <-ctx.Done():
		return fmt.Errorf("close managed ledger %q: %w", m.name, ctx.Err())
	}
	if err := m.lane.Close(ctx); err != nil {
		return err
	}
	return m.closeErr
}

// closeJob is the last job.
type closeJob struct {
	m       *ManagedLedger
	ctx     context.Context // of Close
	release func() bool     // forgets ctx
	lost    bool            // the log has another owner: leave everything alone
}

func (j *closeJob) begin() bool {
	l := &j.m.lanes
	j.lost = !errors.Is(l.jobs.stopped, ErrClosed)
	if l.writing != nil {
		l.old, l.writing = l.writing, nil
	}
	if l.old != nil {
		l.old.mustRecover = l.old.failed != nil
	}
	return true
}

func (j *closeJob) run(ctx context.Context) error {
	errs := []error{j.m.cursors.close(ctx, ErrClosed)}
	unused := j.m.lanes.created
	if !j.lost {
		errs = append(errs, j.settle(ctx, unused))
	}
	if unused != nil {
		closeReader(unused)
		if err := j.m.settings.Ledgers.Delete(ctx, unused.ID()); err != nil && !errors.Is(err, sdk.ErrLedgerNotFound) {
			errs = append(errs, fmt.Errorf("delete unused ledger %d: %w", unused.ID(), err))
		}
	}
	return errors.Join(errs...)
}

// settle ends the open ledger and writes its end down, which spares the next
// owner the recovery; and takes a ledger out of the list that was made but
// never written to.
func (j *closeJob) settle(ctx context.Context, unused sdk.LedgerWriter) error {
	l := &j.m.lanes
	next := l.stored.clone()
	if unused != nil {
		next.settle(unused.ID(), 0, 0, time.Now())
	}
	if l.old != nil {
		if err := l.old.end(ctx); err != nil {
			return err
		}
		next.settle(l.old.id, l.old.entries, l.old.size, time.Now())
	}
	if len(next.removed) == len(l.stored.removed) && next.lac == l.stored.lac {
		return nil // nothing new to say
	}
	return j.m.put(ctx, next)
}

func (j *closeJob) finish(err error) {
	m, l := j.m, &j.m.lanes
	if w := l.old; w != nil {
		if !j.lost {
			if lost := m.applyEnd(w); lost != nil {
				err = errors.Join(err, lost)
			}
		}
		m.abandon(w, ErrClosed)
	}
	for _, b := range l.resend {
		m.fail(b, ErrClosed)
	}
	l.resend = nil
	m.failQueued(ErrClosed)
	m.publish(func(v *view) {
		v.state = StateClosed
		if err == nil && !j.lost {
			v.ledgers = newSpans(l.stored.clone().ledgers)
		}
	})
	m.waiters.wakeAll()
	m.handles.close(ErrClosed)
	if err != nil {
		m.closeErr = fmt.Errorf("close managed ledger %q: %w", m.name, err)
	}
	j.release()
	m.cancelWork()
	close(m.closed)
}
