package managedledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// A write of a cursor that failed is tried again after retryFirst, then twice as
// long each time, up to this.
const retryMost = 2 * time.Second

// saver writes a durable cursor down. One write is under way at a time; what is
// acknowledged meanwhile goes with the next one, and all who wait for it are
// answered together. It is guarded by the cursor's mu.
type saver struct {
	version sdk.Version
	saved   sdk.Position // mark-delete position that is stored
	making  bool         // it was never stored
	at      time.Time
	// dirty says that the cursor differs from what is stored or being written.
	dirty bool
	// writing says that a write is under way; or queued for the executor; or
	// waits to be tried again, then retry is its timer.
	writing bool
	queued  bool
	retry   *time.Timer
	// waiting want to hear of the next write, taken of the one under way.
	waiting, taken []func(error)
	// closing is why a failed write is not tried again.
	closing  error
	failures int
	leftOut  int
}

// save has the cursor written down, and done called when it is. It is called with
// mu and releases it. With here the write may run on this goroutine.
func (c *Cursor) save(done func(error), here bool) {
	s := &c.saver
	if !c.durable || !s.dirty && !s.writing {
		c.mu.Unlock()
		done(nil)
		return
	}
	s.waiting = append(s.waiting, done)
	begin := !s.writing
	if begin {
		s.writing, s.queued = true, true
	}
	c.mu.Unlock()
	switch {
	case !begin:
	case here:
		scheduling.RunHere((*writeTask)(c))
	default:
		c.m.elsewhere((*writeTask)(c))
	}
}

// writeTask is a queued write. If it is not queued any more when its turn comes,
// somebody else has taken it over.
type writeTask Cursor

func (t *writeTask) Run() { (*Cursor)(t).write() }

// Failed is told that the metadata store panicked.
func (t *writeTask) Failed(err error) { (*Cursor)(t).written(err) }

// write writes the cursor down once.
func (c *Cursor) write() {
	c.mu.Lock()
	s := &c.saver
	if !s.queued {
		c.mu.Unlock()
		return
	}
	s.queued = false
	s.taken = append(s.taken, s.waiting...)
	s.waiting = nil
	record, cut := c.snapshot()
	s.dirty = false
	version := s.version
	c.mu.Unlock()
	if cut {
		c.warnCut()
	}

	version, err := c.put(record, version)
	if err == nil {
		c.mu.Lock()
		s.version, s.saved, s.at = version, record.mark, time.Now()
		c.mu.Unlock()
		c.m.trimSoon()
	}
	c.written(err)
}

// written goes on after a write: with the next one if there is need, and with
// the answers.
func (c *Cursor) written(err error) {
	lost := errors.Is(err, sdk.ErrFenced) || errors.Is(err, ErrDeleting)
	c.mu.Lock()
	s := &c.saver
	answer := s.taken
	s.taken = nil
	first := false
	switch {
	case err == nil && s.dirty:
		s.failures, s.queued = 0, true
		defer c.m.elsewhere((*writeTask)(c))
	case err == nil:
		s.failures, s.writing = 0, false
		answer = append(answer, s.waiting...) // nothing has changed since
		s.waiting = nil
	case lost || s.closing != nil:
		s.dirty, s.writing = true, false
		answer = append(answer, s.waiting...)
		s.waiting = nil
	default:
		s.dirty = true
		first = s.failures == 0
		s.failures++
		s.retry = time.AfterFunc(min(retryFirst<<min(s.failures, 16), retryMost), c.writeAgain)
	}
	c.mu.Unlock()
	if lost {
		c.m.fenceSoon(err)
	} else if first {
		c.m.log.Warn("cursor not written down, trying again", "cursor", c.name, "error", err)
	}
	if err != nil {
		err = fmt.Errorf("write cursor %q down: %w", c.name, err)
	}
	for _, done := range answer {
		done(err)
	}
}

// writeAgain is what the timer of a write that failed does.
func (c *Cursor) writeAgain() {
	c.mu.Lock()
	wanted := c.saver.retry != nil
	if wanted {
		c.saver.retry, c.saver.queued = nil, true
	}
	c.mu.Unlock()
	if wanted {
		c.m.elsewhere((*writeTask)(c))
	}
}

// put stores a record over the version that this cursor wrote last.
func (c *Cursor) put(r cursorRecord, version sdk.Version) (sdk.Version, error) {
	m := c.m
	if v := m.current(); !v.state.readable() && v.state != StateClosed {
		return 0, v.ended()
	}
	value, err := r.encode()
	if err != nil {
		return 0, err
	}
	ctx := m.cursors.ctx
	if limit := m.config().StoreTimeout; limit > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	key := cursorKey(m.name, c.name)
	v, err := m.settings.Metadata.Put(ctx, key, value, version)
	if errors.Is(err, sdk.ErrVersionConflict) {
		return m.cursors.putOver(ctx, key, value)
	}
	return v, err
}

// putOver settles a version conflict: what is there is an earlier write of this
// owner that got through although it seemed to fail, or one of a former owner
// who has not noticed that it lost the log; or else the log has another owner.
func (s *cursors) putOver(ctx context.Context, key string, value []byte) (sdk.Version, error) {
	metadata := s.m.settings.Metadata
	found, err := metadata.Get(ctx, key)
	if errors.Is(err, sdk.ErrKeyNotFound) {
		found.Version = sdk.NoVersion
	} else if err != nil {
		return 0, err
	}
	if bytes.Equal(found.Value, value) {
		return found.Version, nil
	}
	topic, err := metadata.Get(ctx, recordKey(s.m.name))
	if errors.Is(err, sdk.ErrKeyNotFound) {
		return 0, ErrDeleting
	} else if err != nil {
		return 0, err
	}
	stored, err := decodeRecord(topic.Value)
	switch {
	case err != nil:
		return 0, err
	case stored.deleting:
		return 0, ErrDeleting
	case stored.owner != s.owner:
		return 0, ErrFenced
	}
	return metadata.Put(ctx, key, value, found.Version)
}

// flush has everything written down that is not, and waits for it. It is for
// closing: afterwards no failed write is tried again. It writes on this
// goroutine, because that may be one of the executor's, which must not wait for
// another one.
func (c *Cursor) flush(ctx context.Context, closing error) error {
	done := make(chan error, 1)
	c.mu.Lock()
	s := &c.saver
	s.closing = closing
	if s.retry != nil {
		s.retry.Stop()
		s.retry, s.writing = nil, false
	}
	if s.queued {
		s.queued, s.writing = false, false
	}
	c.save(func(err error) { done <- err }, true)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("write cursor %q down: %w", c.name, ctx.Err())
	}
}
