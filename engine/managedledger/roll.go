package managedledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// needLedger sees to it that there will be a ledger to write to.
func (m *ManagedLedger) needLedger() {
	if !m.lanes.rolling {
		m.lanes.rolling = true
		m.enqueue(&rollJob{m: m})
	}
}

// rollJob settles the former ledger if there is one, makes the next one if adds
// wait for it, and writes both down in one step. Only then is the new ledger
// written to, and only then is the former one known to be closed.
type rollJob struct {
	m      *ManagedLedger
	old    *writing
	create bool
	begun  bool
	asked  *asked // of Roll; nil otherwise
}

func (j *rollJob) begin() bool {
	l := &j.m.lanes
	l.rolling = true
	if j.asked != nil && l.writing != nil && l.writing.next > 0 {
		j.m.retire(l.writing)
	}
	if j.old = l.old; j.old != nil {
		j.old.mustRecover = j.old.failed != nil
	}
	j.create = l.writing == nil && (l.wanted || l.stalled || len(l.resend) > 0 || j.unconfirmed() || !j.m.intake.empty())
	if j.old == nil && j.create {
		j.m.publish(func(v *view) { v.state = StateCreating })
	}
	j.begun = j.old != nil || j.create
	return j.begun
}

// unconfirmed says whether the former ledger leaves batches that may have to go
// to the next one.
func (j *rollJob) unconfirmed() bool {
	return j.old != nil && j.old.failed != nil && len(j.old.sent) > 0
}

func (j *rollJob) run(ctx context.Context) error {
	m := j.m
	var created error
	if j.create {
		created = m.createLedger(ctx)
	}
	if j.old != nil {
		if err := j.old.end(ctx); err != nil {
			return err
		}
	}
	if created != nil {
		return created
	}
	next := m.lanes.stored.clone()
	if j.old != nil {
		next.settle(j.old.id, j.old.entries, j.old.size, time.Now())
	}
	if j.create {
		next.ledgers = append(next.ledgers, ledgerSpan{id: m.lanes.created.ID()})
	}
	return m.put(ctx, next)
}

// createLedger makes the next ledger, if an earlier attempt did not.
func (m *ManagedLedger) createLedger(ctx context.Context) error {
	if m.lanes.created != nil {
		return nil
	}
	w, err := m.settings.Ledgers.Create(ctx, sdk.CreateOptions{Labels: map[string]string{"topic": label(m.name)}})
	if err != nil {
		return fmt.Errorf("create a ledger: %w", err)
	}
	if n := len(m.lanes.stored.ledgers); n > 0 && w.ID() <= m.lanes.stored.ledgers[n-1].id {
		_ = w.Close()
		return fmt.Errorf("%w: store gave ledger id %d, which is not above %d", sdk.ErrCorrupt, w.ID(), m.lanes.stored.ledgers[n-1].id)
	}
	m.lanes.created = w
	return nil
}

// label cuts a name to what a store takes as a label.
func label(name string) string { return name[:min(len(name), sdk.MaxLabelBytes)] }

// end learns the true end of the ledger: by sealing it, or, if anything is not
// as it should be, by opening it with recovery.
func (w *writing) end(ctx context.Context) error {
	if w.settled {
		return nil
	}
	if !w.mustRecover && !w.recovering.Load() {
		last, err := w.writer.Seal(ctx)
		switch {
		case err == nil && last == w.next-1:
			w.settled, w.entries, w.size = true, int64(last)+1, w.bytes
			return nil
		case errors.Is(err, sdk.ErrFenced), errors.Is(err, sdk.ErrLedgerNotFound):
			return fmt.Errorf("seal ledger %d: %w: %w", w.id, ErrFenced, err)
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("seal ledger %d: %w", w.id, err)
		}
	}
	w.recovering.Store(true)
	reader, err := w.m.settings.Ledgers.Open(ctx, w.id, sdk.OpenRecover)
	if errors.Is(err, sdk.ErrLedgerNotFound) {
		return fmt.Errorf("recover ledger %d: %w: %w", w.id, ErrFenced, err) // only an owner removes it
	} else if err != nil {
		return fmt.Errorf("recover ledger %d: %w", w.id, err)
	}
	state := reader.State()
	closeReader(reader)
	if !state.Closed {
		return fmt.Errorf("%w: recover ledger %d: store left it open", sdk.ErrUnavailable, w.id)
	}
	w.settled, w.entries, w.size = true, int64(state.LastConfirmed)+1, state.Bytes
	return nil
}

func (j *rollJob) finish(err error) {
	m, l := j.m, &j.m.lanes
	l.rolling = false
	if j.old != nil && l.jobs.stopped == nil {
		if lost := m.applyEnd(j.old); lost != nil && err == nil {
			err = lost
		}
	}
	switch {
	case !j.begun:
	case l.jobs.stopped != nil:
		err = l.jobs.stopped
	case err != nil:
		m.rollFailed(err)
	default:
		m.install(j)
	}
	if j.asked != nil {
		j.asked.done <- err
	}
}

// applyEnd brings the batches of a ledger in line with its true end: what
// recovery found is acknowledged, the rest waits for the next ledger.
func (m *ManagedLedger) applyEnd(w *writing) error {
	w.settle()
	if !w.settled {
		return nil
	}
	var finished []*batch
	var resend []*batch
	for _, s := range w.sent {
		stored := int(min(max(w.entries-int64(s.first), 0), int64(s.count)))
		known := s.batch.acked - s.from
		if stored > known {
			s.batch.confirm(sdk.Position{Ledger: w.id, Entry: s.first + sdk.EntryID(known)}, stored-known)
			m.totals.confirmed(stored-known, s.bytes(stored)-s.bytes(known))
		}
		s.batch.sent = false
		if stored == s.count {
			finished = append(finished, s.batch)
		} else {
			resend = append(resend, s.batch)
		}
	}
	w.sent = nil
	m.noteSent(w)
	m.lanes.resend = append(resend, m.lanes.resend...)
	lac := sdk.Position{Ledger: w.id, Entry: sdk.EntryID(w.entries - 1)}
	before := m.current().lac
	if w.entries > 0 && lac.After(before) {
		m.publish(func(v *view) { v.lac, v.openBytes = lac, w.size })
		m.waiters.wakeAll()
	}
	for _, b := range finished {
		m.finish(b)
	}
	if before.Ledger == w.id && before.After(lac) {
		return fmt.Errorf("%w: ledger %d ends at entry %d, but entries up to %d were acknowledged", sdk.ErrCorrupt, w.id, lac.Entry, before.Entry)
	}
	return nil
}

// install goes on with what the job has made.
func (m *ManagedLedger) install(j *rollJob) {
	l := &m.lanes
	if j.create {
		w := &writing{m: m, writer: l.created, id: l.created.ID(), opened: time.Now()}
		l.created, l.writing, l.wanted = nil, w, false
		m.openedAt.Store(w.opened.UnixNano())
		m.handles.setWritable(w.writer)
	} else {
		m.handles.setWritable(nil)
	}
	l.old = nil
	m.publish(func(v *view) {
		v.state, v.openBytes = StateOpen, 0
		v.ledgers = newSpans(l.stored.clone().ledgers)
	})
	m.waiters.wakeAll()
	if j.old != nil {
		m.cursors.trimmed(m.current())
		m.trimSoon()
		m.sweep()
	}
	m.resendAll()
	m.send()
}

// resendAll hands over, in order, what the former ledger did not take.
func (m *ManagedLedger) resendAll() {
	l := &m.lanes
	for len(l.resend) > 0 && l.writing != nil {
		b := l.resend[0]
		l.resend = l.resend[1:]
		l.writing.handOver(b)
	}
	if len(l.resend) == 0 {
		l.resend = nil
	} else {
		m.needLedger()
	}
}

// rollFailed answers all adds: there is no ledger for them. The next add tries
// again, beginning where this attempt ended.
func (m *ManagedLedger) rollFailed(err error) {
	l := &m.lanes
	m.log.Warn("no ledger to write to", "error", err)
	// What waits is taken before anybody is answered: the add that somebody
	// makes upon an answer is the next one.
	l.wanted, l.stalled = false, false
	m.intake.failed()
	queued := m.intake.take(nil)
	m.publish(func(v *view) { v.state = StateWriteFailed })
	if l.old != nil && !l.old.settled {
		for _, s := range l.old.sent {
			m.fail(s.batch, err)
		}
		l.old.sent = nil
		m.sentAt.Store(0)
	}
	resend := l.resend
	l.resend = nil
	for _, b := range append(resend, queued...) {
		m.fail(b, err)
	}
	m.waiters.wakeAll()
}

// Roll closes the open ledger if it holds entries; the next add gets a new one.
func (m *ManagedLedger) Roll(ctx context.Context) error {
	a := newAsked()
	return m.do(ctx, &rollJob{m: m, asked: &a}, a.done)
}
