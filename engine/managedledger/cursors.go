package managedledger

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger/ackset"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// cursors are the cursors of one log.
type cursors struct {
	m *ManagedLedger
	// owner is this opening's name in the log's record; set by recover.
	owner string
	// ctx ends the writes in flight when closing is over.
	ctx    context.Context
	cancel context.CancelFunc

	// placing is held while a cursor is put to a place, and while a trim decides
	// what goes: no cursor may get to a place that is just going. It guards
	// barrier, and is taken before mu.
	placing sync.Mutex
	barrier sdk.Position // last entry that is going; notTrimmed if none is

	// mu guards byName and closed, and is taken before a cursor's.
	mu     sync.Mutex
	byName map[string]*slot
	closed error

	// touched is set by every read. The lane takes it away now and then, which
	// it notes in looked and used.
	touched      atomic.Bool
	looked, used time.Time
}

// slot is the place of a cursor.
type slot struct {
	cursor *Cursor
	// busy is there while the cursor is made or deleted, and closed afterwards.
	busy chan struct{}
}

// discardTime bounds the removal of a cursor that could not be made.
const discardTime = 5 * time.Second

// init ties the cursors to their log.
func (s *cursors) init(m *ManagedLedger) {
	s.m, s.barrier = m, notTrimmed
	s.byName = map[string]*slot{}
	s.ctx, s.cancel = context.WithCancel(context.Background())
}

// OpenCursor returns the cursor of that name, and makes it if there is none. In
// one process the same name gives the same cursor, until it is closed or
// deleted. reason.ErrCursorNotFound, reason.ErrCursorExists; sdk.ErrInvalid if
// it exists and is durable where a passing one is asked for, or the other way.
func (m *ManagedLedger) OpenCursor(ctx context.Context, name string, o CursorOptions) (*Cursor, error) {
	c, err := m.cursors.open(ctx, name, o)
	if err != nil {
		return nil, fmt.Errorf("open cursor %q: %w", name, err)
	}
	return c, nil
}

func (s *cursors) open(ctx context.Context, name string, o CursorOptions) (*Cursor, error) {
	if name == "" || o.MustExist && o.MustCreate {
		return nil, fmt.Errorf("%w: a cursor needs a name, and cannot both exist and not", sdk.ErrInvalid)
	}
	for {
		c, busy, err := s.enter(name, o)
		switch {
		case err != nil:
			return nil, err
		case busy != nil:
			select {
			case <-busy:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case c.made():
			return c, nil
		default:
			return s.make(ctx, c)
		}
	}
}

// enter returns the cursor of that name; or, if there was none, a new one, which
// is the caller's to make; or the channel to wait for, because it is just being
// made or deleted.
func (s *cursors) enter(name string, o CursorOptions) (c *Cursor, busy <-chan struct{}, err error) {
	s.placing.Lock()
	defer s.placing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.m.current()
	own := s.byName[name]
	switch {
	case s.closed != nil:
		return nil, nil, s.closed
	case !v.state.readable():
		return nil, nil, v.ended()
	case own != nil && own.busy != nil:
		return nil, own.busy, nil
	case own != nil && o.MustCreate:
		return nil, nil, reason.ErrCursorExists
	case own != nil && own.cursor.durable != o.Durable && !o.MustExist:
		return nil, nil, fmt.Errorf("%w: it exists and durable is %t", sdk.ErrInvalid, own.cursor.durable)
	case own != nil:
		return s.reopen(own), nil, nil
	case o.MustExist:
		return nil, nil, reason.ErrCursorNotFound
	}
	place := s.keep(v, o.From.resolve(v))
	c = newCursor(s.m, name, o.Durable, v.markBefore(place))
	c.place = place
	c.saver.dirty, c.saver.making = o.Durable, o.Durable
	own = &slot{cursor: c}
	if o.Durable {
		own.busy = make(chan struct{})
	}
	s.byName[name] = own
	return c, nil, nil
}

// made says whether the cursor needs no writing down before it is used.
func (c *Cursor) made() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.saver.making
}

// make stores a new cursor. From the moment when it has its slot, trimming heeds
// it.
func (s *cursors) make(ctx context.Context, c *Cursor) (*Cursor, error) {
	c.mu.Lock()
	err := c.saveAndWait(ctx)
	if err != nil {
		c.discard(err)
	}
	c.mu.Lock()
	c.saver.making = false
	c.mu.Unlock()
	s.settle(c.name, err == nil)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// settle ends that a slot is busy. If the cursor is not kept the slot is free.
func (s *cursors) settle(name string, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byName[name]
	close(own.busy)
	own.busy = nil
	if !keep {
		delete(s.byName, name)
	}
}

// discard ends a cursor that could not be made, and removes what may have been
// stored of it all the same.
func (c *Cursor) discard(err error) {
	c.end(err)
	ctx, cancel := context.WithTimeout(context.Background(), discardTime)
	defer cancel()
	_ = c.flush(ctx, err)
	_ = c.m.settings.Metadata.Delete(ctx, cursorKey(c.m.name, c.name), sdk.AnyVersion)
}

// reopen makes a cursor of one that was closed: it goes on with what that one
// has acknowledged. Called with mu.
func (s *cursors) reopen(own *slot) *Cursor {
	old := own.cursor
	old.mu.Lock()
	defer old.mu.Unlock()
	if old.closed == nil || s.closed != nil {
		return old
	}
	c := newCursor(s.m, old.name, old.durable, old.acks.MarkDelete())
	c.acks = old.acks
	c.place = c.acks.MarkDelete().Next()
	c.saver = saver{version: old.saver.version, saved: old.saver.saved, at: old.saver.at, dirty: old.saver.dirty, leftOut: old.saver.leftOut}
	old.acks = ackset.New(c.acks.MarkDelete(), func(p sdk.Position) sdk.Position { return p.Next() })
	own.cursor = c
	if c.saver.dirty { // closing could not write it down
		c.saver.writing, c.saver.queued = true, true
		s.m.elsewhere((*writeTask)(c))
	}
	return c
}

// Cursor returns the cursor of that name, if there is one.
func (m *ManagedLedger) Cursor(name string) (*Cursor, bool) {
	s := &m.cursors
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byName[name]
	if own == nil || own.busy != nil {
		return nil, false
	}
	return s.reopen(own), true
}

// Cursors returns the names of all cursors, sorted.
func (m *ManagedLedger) Cursors() []string {
	s := &m.cursors
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.byName))
	for name, own := range s.byName {
		if own.busy == nil {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// DeleteCursor removes a cursor and what is stored of it; its read ends with
// reason.ErrCursorNotFound, and so does DeleteCursor if there is none. If it
// fails, the cursor is still there.
func (m *ManagedLedger) DeleteCursor(ctx context.Context, name string) error {
	if err := m.cursors.remove(ctx, name); err != nil {
		return fmt.Errorf("delete cursor %q: %w", name, err)
	}
	m.trimSoon()
	return nil
}

func (s *cursors) remove(ctx context.Context, name string) error {
	for {
		c, busy, err := s.leave(name)
		switch {
		case err != nil:
			return err
		case busy == nil:
			err := s.erase(ctx, c)
			s.settle(name, err != nil)
			return err
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leave returns the cursor to delete, whose slot is busy with that from now on;
// or the channel to wait for.
func (s *cursors) leave(name string) (c *Cursor, busy <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byName[name]
	switch {
	case s.closed != nil:
		return nil, nil, s.closed
	case own == nil:
		return nil, nil, reason.ErrCursorNotFound
	case own.busy != nil:
		return nil, own.busy, nil
	}
	own.busy = make(chan struct{})
	return own.cursor, nil, nil
}

// erase ends a cursor and removes what is stored of it.
func (s *cursors) erase(ctx context.Context, c *Cursor) error {
	c.end(fmt.Errorf("%w: %q was deleted", reason.ErrCursorNotFound, c.name))
	if !c.durable {
		return nil
	}
	// A write under way must not bring the key back.
	if err := c.flush(ctx, reason.ErrCursorNotFound); err != nil && ctx.Err() != nil {
		return err
	}
	err := s.m.settings.Metadata.Delete(ctx, cursorKey(s.m.name, c.name), sdk.AnyVersion)
	if errors.Is(err, sdk.ErrKeyNotFound) {
		return nil
	}
	return err
}

// Close ends the use of the cursor: its read ends with sdk.ErrClosed, and later
// calls are refused with it. A durable cursor is written down; it keeps its
// place and goes on to hold entries in the log, and opening it again goes on. A
// passing one is gone.
func (c *Cursor) Close(ctx context.Context) error {
	c.end(fmt.Errorf("cursor %q: %w", c.name, sdk.ErrClosed))
	if c.durable {
		return c.flush(ctx, sdk.ErrClosed)
	}
	s := &c.m.cursors
	s.mu.Lock()
	own := s.byName[c.name]
	if own != nil && own.cursor == c {
		delete(s.byName, c.name)
	}
	s.mu.Unlock()
	return nil
}
