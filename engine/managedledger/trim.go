package managedledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// sweepAtOnce bounds the ledgers that one job deletes from the store, so that
// deleting many does not keep a roll waiting.
const sweepAtOnce = 16

// removable returns how many ledgers from the start of the log may go: closed,
// consumed by every durable cursor (the slowest has acknowledged everything up
// to slowest; without a durable cursor all is consumed) and outside retention.
// The oldest go first and the first one that stays keeps all behind it. With
// force only the cursors hold ledgers back.
func removable(v *view, slowest sdk.Position, held bool, c *Config, now time.Time, force bool) int {
	var left int64
	for i := range v.ledgers {
		left += v.bytes(i)
	}
	n := 0
	for ; n < len(v.ledgers); n++ {
		s := &v.ledgers[n]
		last := sdk.Position{Ledger: s.id, Entry: sdk.EntryID(s.entries - 1)}
		if s.open() || last.After(v.lac) || (held && last.After(slowest)) {
			break
		}
		left -= s.bytes
		expired := c.RetentionTime >= 0 && now.Sub(s.closedAt) > c.RetentionTime
		over := c.RetentionBytes >= 0 && left >= c.RetentionBytes
		if !force && !expired && !over {
			break
		}
	}
	return n
}

// trimSoon has the lane look whether ledgers may go. It is cheap, and calls
// that come close together count once.
func (m *ManagedLedger) trimSoon() {
	v := m.current()
	if len(v.ledgers) == 0 || v.ledgers[0].open() || !v.state.readable() || m.trimQueued.Swap(true) {
		return
	}
	if err := m.lane.Post(scheduling.KindTrim, (*trimTask)(m)); err != nil {
		m.trimQueued.Store(false) // Maintain asks again
	}
}

// trimTask is the lane task of trimSoon.
type trimTask ManagedLedger

func (t *trimTask) Run() {
	m := (*ManagedLedger)(t)
	m.trimQueued.Store(false)
	if m.lanes.jobs.stopped == nil && m.removable(false) > 0 {
		m.enqueue(&trimJob{m: m})
	}
}

// removable is the function of that name, for now.
func (m *ManagedLedger) removable(force bool) int {
	slowest, held := m.cursors.slowest()
	return removable(m.current(), slowest, held, m.config(), time.Now(), force)
}

// trimJob removes ledgers from the start of the log: first from what is stored
// about it, then from what is visible, then from the store.
type trimJob struct {
	m     *ManagedLedger
	force bool
	n     int
	asked *asked // of Trim; nil otherwise
}

func (j *trimJob) begin() bool {
	j.n = j.m.cursors.beginTrim(j.force)
	return j.n > 0
}

func (j *trimJob) run(ctx context.Context) error {
	next := j.m.lanes.stored.clone()
	for _, s := range next.ledgers[:j.n] {
		next.removed = append(next.removed, s.id)
		next.trimmed = sdk.Position{Ledger: s.id, Entry: sdk.EntryID(s.entries - 1)}
	}
	next.ledgers = next.ledgers[j.n:]
	return j.m.put(ctx, next)
}

func (j *trimJob) finish(err error) {
	m := j.m
	if err == nil && j.n > 0 {
		gone := m.current().ledgers[:j.n]
		m.publish(func(v *view) {
			v.ledgers = newSpans(m.lanes.stored.clone().ledgers)
			v.trimmed = m.lanes.stored.trimmed
		})
		for i := range gone {
			m.settings.Cache.DropLedger(gone[i].id)
			m.handles.drop(gone[i].id)
		}
		m.cursors.trimmed(m.current())
		m.waiters.wakeAll()
		m.sweep()
	} else if err != nil {
		m.log.Warn("trim failed", "ledgers", j.n, "error", err)
	}
	m.cursors.endTrim()
	if j.asked != nil {
		j.asked.done <- err
	}
}

// Trim removes the ledgers that every durable cursor has consumed and that
// retention does not keep, and returns how many. It happens by itself too.
func (m *ManagedLedger) Trim(ctx context.Context) (removed int, err error) {
	return m.trim(ctx, false)
}

func (m *ManagedLedger) trim(ctx context.Context, force bool) (removed int, err error) {
	a := newAsked()
	j := &trimJob{m: m, force: force, asked: &a}
	if err := m.do(ctx, j, a.done); err != nil {
		return 0, err
	}
	return j.n, nil
}

// sweep has the ledgers deleted that are not part of the log any more.
func (m *ManagedLedger) sweep() { m.enqueue(&sweepJob{m: m}) }

// sweepJob deletes removed ledgers from the store. What it has deleted leaves
// the record with the next write of it; until then deleting it again does no
// harm.
type sweepJob struct {
	m    *ManagedLedger
	more bool
}

func (j *sweepJob) begin() bool {
	return len(j.m.lanes.stored.removed) > 0
}

func (j *sweepJob) run(ctx context.Context) error {
	removed := &j.m.lanes.stored.removed
	for n := 0; len(*removed) > 0; n++ {
		if j.more = n == sweepAtOnce; j.more {
			return nil
		}
		id := (*removed)[0]
		if err := j.m.settings.Ledgers.Delete(ctx, id); err != nil && !errors.Is(err, sdk.ErrLedgerNotFound) {
			return fmt.Errorf("delete ledger %d: %w", id, err)
		}
		*removed = (*removed)[1:]
	}
	return nil
}

func (j *sweepJob) finish(err error) {
	if err != nil {
		j.m.log.Warn("removed ledgers are not deleted yet", "error", err)
	} else if j.more {
		j.m.sweep()
	}
}
