package managedledger

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger/ackset"
	"github.com/tidemark-engine/tidemark/sdk"
)

// cachingTime is how long after the last read confirmed entries go into the
// cache, and how often the lane looks for reads.
const cachingTime = time.Second

// cursorsAtOnce bounds the cursors that are written down at the same time when a
// log is opened or closed.
const cursorsAtOnce = 16

// recover brings back the durable cursors. It is called once, by Open. Each of
// them is written anew: from then on a former owner, who may not have noticed,
// cannot write them any more.
func (s *cursors) recover(ctx context.Context) error {
	s.owner = s.m.lanes.stored.owner
	const page = 100
	prefix := cursorPrefix(s.m.name)
	for after := ""; ; {
		found, err := s.m.settings.Metadata.List(ctx, prefix, after, page)
		if err != nil {
			return fmt.Errorf("list cursors: %w", err)
		}
		for _, f := range found {
			name, err := url.PathUnescape(strings.TrimPrefix(f.Key, prefix))
			if err != nil {
				return fmt.Errorf("%w: metadata key %q", sdk.ErrCorrupt, f.Key)
			}
			s.byName[name] = &slot{cursor: newCursor(s.m, name, true, notTrimmed)}
			after = f.Key
		}
		if len(found) < page {
			break
		}
	}
	return s.each(func(c *Cursor) error { return c.takeOver(ctx) })
}

// takeOver reads what is stored of the cursor and writes it anew.
func (c *Cursor) takeOver(ctx context.Context) error {
	metadata, key := c.m.settings.Metadata, cursorKey(c.m.name, c.name)
	var err error
	for range openAttempts {
		var found sdk.Versioned
		found, err = metadata.Get(ctx, key)
		if err != nil {
			break
		}
		var stored cursorRecord
		if stored, err = decodeCursor(found.Value); err == nil {
			err = c.restore(stored)
		}
		if err != nil {
			break
		}
		record, cut := c.snapshot()
		if cut {
			c.warnCut()
		}
		value, wrong := record.encode()
		if wrong != nil {
			return wrong
		}
		c.saver.version, err = metadata.Put(ctx, key, value, found.Version)
		if !errors.Is(err, sdk.ErrVersionConflict) {
			c.saver.at = time.Now()
			break
		}
	}
	if err != nil {
		return fmt.Errorf("recover cursor %q (metadata key %q): %w", c.name, key, err)
	}
	return nil
}

// all returns all cursors, those that are being made too.
func (s *cursors) all() []*Cursor {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Cursor, 0, len(s.byName))
	for _, own := range s.byName {
		all = append(all, own.cursor)
	}
	return all
}

// each calls f for all cursors, for some at the same time, and returns what went
// wrong.
func (s *cursors) each(f func(*Cursor) error) error {
	all := s.all()
	if len(all) == 1 {
		return f(all[0])
	}
	errs := make([]error, len(all))
	var work sync.WaitGroup // the goroutines end with their calls of f
	turn := make(chan struct{}, cursorsAtOnce)
	for i, c := range all {
		turn <- struct{}{}
		work.Go(func() {
			defer func() { <-turn }()
			errs[i] = f(c)
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// slowest returns the least mark-delete position of all durable cursors, as it
// is stored; false if there is none.
func (s *cursors) slowest() (slowest sdk.Position, held bool) {
	for _, c := range s.all() {
		if !c.durable {
			continue
		}
		c.mu.Lock()
		saved := c.saver.saved
		if mark := c.acks.MarkDelete(); mark.Before(saved) {
			saved = mark // a seek back that is not stored yet
		}
		c.mu.Unlock()
		if !held || saved.Before(slowest) {
			slowest, held = saved, true
		}
	}
	return slowest, held
}

// beginTrim returns how many ledgers may go. Until endTrim no cursor gets to a
// place in them.
func (s *cursors) beginTrim(force bool) int {
	s.placing.Lock()
	defer s.placing.Unlock()
	n := s.m.removable(force)
	if n > 0 {
		last := &s.m.current().ledgers[n-1]
		s.barrier = sdk.Position{Ledger: last.id, Entry: sdk.EntryID(last.entries - 1)}
	}
	return n
}

func (s *cursors) endTrim() {
	s.placing.Lock()
	defer s.placing.Unlock()
	s.barrier = notTrimmed
}

// keep returns the place for a cursor that is to be put to p: p, or the first
// one behind what is just being trimmed. Called with placing.
func (s *cursors) keep(v *view, p sdk.Position) sdk.Position {
	if s.barrier != notTrimmed && !p.After(s.barrier) {
		p, _ = v.start(s.barrier.Next())
	}
	return p
}

// touch notes that somebody reads.
func (s *cursors) touch() {
	if !s.touched.Load() {
		s.touched.Store(true)
	}
}

// active says whether confirmed entries are worth keeping in the cache: somebody
// waits for them or has read lately. It is called on the lane.
func (s *cursors) active() bool {
	now := time.Now()
	if s.m.waiters.waiting() > 0 {
		s.used = now
		return true
	}
	if now.Sub(s.looked) >= cachingTime {
		s.looked = now
		if s.touched.Swap(false) {
			s.used = now
		}
	}
	return s.touched.Load() || now.Sub(s.used) < 2*cachingTime
}

// trimmed is told, on the lane, that ledgers were closed or removed: ledgers
// follow each other in another way now, so that a mark-delete position may move
// on.
func (s *cursors) trimmed(*view) {
	for _, c := range s.all() {
		c.mu.Lock()
		c.acks.Advance()
		c.mu.Unlock()
	}
}

// lose acknowledges a ledger that the store has lost, for all cursors.
func (s *cursors) lose(id sdk.LedgerID, last sdk.EntryID) {
	for _, c := range s.all() {
		c.mu.Lock()
		if c.acks.AddRange(ackset.Range{Ledger: id, First: 0, Last: last}) > 0 && c.durable {
			c.saver.dirty = true
			c.save(func(error) {}, false)
			continue
		}
		c.mu.Unlock()
	}
}

// clearAll acknowledges everything confirmed for all durable cursors, so that
// they hold nothing. Others hold nothing anyway, and hear of what is gone when
// they read.
func (s *cursors) clearAll(ctx context.Context) error {
	return s.each(func(c *Cursor) error {
		if !c.durable {
			return nil
		}
		return c.Clear(ctx)
	})
}

// close ends the reads of all cursors with err, and has written down what is
// not.
func (s *cursors) close(ctx context.Context, err error) error {
	s.mu.Lock()
	if s.closed == nil {
		s.closed = err
	}
	s.mu.Unlock()
	var unsaved []*Cursor
	for _, c := range s.all() {
		c.end(err)
		c.mu.Lock()
		if c.saver.dirty || c.saver.writing {
			unsaved = append(unsaved, c)
		}
		c.mu.Unlock()
	}
	errs := make([]error, len(unsaved))
	var work sync.WaitGroup // its goroutines end with the flush, at the latest with ctx
	for i, c := range unsaved {
		work.Go(func() { errs[i] = c.flush(ctx, err) })
	}
	work.Wait()
	s.cancel()
	return errors.Join(errs...)
}
