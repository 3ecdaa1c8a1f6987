package managedledger

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Terminate ends the log: it takes no more entries, ever, and stays readable.
// Adds that the store has are waited for; all others end with ErrTerminated. It
// returns the last entry. Terminating again gives the same answer.
func (m *ManagedLedger) Terminate(ctx context.Context) (sdk.Position, error) {
	a := newAsked()
	if err := m.do(ctx, &terminateJob{m: m, asked: &a}, a.done); err != nil {
		return sdk.Position{}, fmt.Errorf("terminate managed ledger %q: %w", m.name, err)
	}
	return m.LastConfirmed(), nil
}

type terminateJob struct {
	m     *ManagedLedger
	old   *writing
	begun bool
	asked *asked
}

func (j *terminateJob) begin() bool {
	m, l := j.m, &j.m.lanes
	if l.stored.terminated {
		return false
	}
	m.intake.close(ErrTerminated)
	m.failQueued(ErrTerminated)
	if l.writing != nil {
		l.old, l.writing = l.writing, nil
	}
	if j.old = l.old; j.old != nil {
		j.old.mustRecover = j.old.failed != nil
	}
	m.publish(func(v *view) { v.state = StateSealing })
	j.begun = true
	return true
}

func (j *terminateJob) run(ctx context.Context) error {
	m := j.m
	if j.old != nil {
		if err := j.old.end(ctx); err != nil {
			return err
		}
	}
	next := m.lanes.stored.clone()
	next.terminated = true
	if w := m.lanes.created; w != nil {
		// Of a roll that did not get further.
		next.removed = append(next.removed, w.ID())
	}
	if j.old != nil {
		next.settle(j.old.id, j.old.entries, j.old.size, time.Now())
	}
	return m.put(ctx, next)
}

func (j *terminateJob) finish(err error) {
	m, l := j.m, &j.m.lanes
	if j.begun && l.jobs.stopped == nil {
		if j.old != nil {
			if lost := m.applyEnd(j.old); err == nil {
				err = lost
			}
		}
		for _, b := range l.resend {
			m.fail(b, ErrTerminated)
		}
		l.resend, l.wanted, l.stalled = nil, false, false
		if err == nil {
			l.old = nil
			if l.created != nil {
				closeReader(l.created)
				l.created = nil
			}
			m.handles.setWritable(nil)
			m.publish(func(v *view) {
				v.state, v.openBytes = StateTerminated, 0
				v.ledgers = newSpans(l.stored.clone().ledgers)
			})
			m.cursors.trimmed(m.current())
			m.trimSoon()
			m.sweep()
		} else {
			// Not terminated after all; the next add goes on.
			m.intake.reopen(ErrTerminated)
			m.publish(func(v *view) { v.state = StateWriteFailed })
		}
		m.waiters.wakeAll()
	}
	j.asked.done <- err
}

// Truncate removes all that is confirmed now: cursors move to the end, and the
// ledgers go whatever retention says.
func (m *ManagedLedger) Truncate(ctx context.Context) error {
	if err := m.Roll(ctx); err != nil {
		return fmt.Errorf("truncate managed ledger %q: %w", m.name, err)
	}
	if err := m.cursors.clearAll(ctx); err != nil {
		return fmt.Errorf("truncate managed ledger %q: %w", m.name, err)
	}
	if _, err := m.trim(ctx, true); err != nil {
		return fmt.Errorf("truncate managed ledger %q: %w", m.name, err)
	}
	return nil
}

// SetProperties replaces what is stored with the log. When it returns nil, it is
// durable.
func (m *ManagedLedger) SetProperties(ctx context.Context, properties map[string]string) error {
	a := newAsked()
	if err := m.do(ctx, &propertiesJob{m: m, properties: maps.Clone(properties), asked: &a}, a.done); err != nil {
		return fmt.Errorf("set the properties of managed ledger %q: %w", m.name, err)
	}
	return nil
}

type propertiesJob struct {
	m          *ManagedLedger
	properties map[string]string
	asked      *asked
}

func (j *propertiesJob) begin() bool { return true }

func (j *propertiesJob) run(ctx context.Context) error {
	next := j.m.lanes.stored.clone()
	next.properties = j.properties
	return j.m.put(ctx, next)
}

func (j *propertiesJob) finish(err error) {
	if err == nil {
		j.m.properties.Store(&j.properties)
	}
	j.asked.done <- err
}
