package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
)

// internalCursors is how the names of cursors begin that the engine itself
// keeps; it is not allowed in names of users.
const internalCursors = "#"

// OpenCursor returns the cursor of that name, made by o if there is none. The
// same name gives the same cursor. [ErrInvalidName], [ErrCursorNotFound],
// [ErrCursorExists].
func (t *Topic) OpenCursor(ctx context.Context, name string, o managedledger.CursorOptions) (*managedledger.Cursor, error) {
	if err := CheckName("cursor", name); err != nil {
		return nil, t.fail("open cursor", err)
	}
	c, err := t.log.OpenCursor(ctx, name, o)
	return c, t.fail("open cursor", err)
}

// Cursor returns the cursor of that name. [ErrCursorNotFound].
func (t *Topic) Cursor(name string) (*managedledger.Cursor, error) {
	if err := CheckName("cursor", name); err != nil {
		return nil, t.fail("cursor", err)
	}
	if err := t.usable(); err != nil {
		return nil, t.fail("cursor", err)
	}
	if c, found := t.log.Cursor(name); found {
		return c, nil
	}
	return nil, t.fail("cursor", fmt.Errorf("%q: %w", name, ErrCursorNotFound))
}

// Cursors returns the names of all cursors, sorted.
func (t *Topic) Cursors() []string {
	all := t.log.Cursors()
	names := all[:0:0]
	for _, name := range all {
		if !strings.HasPrefix(name, internalCursors) {
			names = append(names, name)
		}
	}
	return names
}

// DeleteCursor removes a cursor and what is stored of it; its waiting reads
// end. [ErrCursorNotFound].
func (t *Topic) DeleteCursor(ctx context.Context, name string) error {
	if err := CheckName("cursor", name); err != nil {
		return t.fail("delete cursor", err)
	}
	return t.fail("delete cursor", t.log.DeleteCursor(ctx, name))
}

// Read reads without a cursor what is readable now from a position on; beyond
// the last entry the result is empty.
func (t *Topic) Read(ctx context.Context, from sdk.Position, limit managedledger.Max) (managedledger.ReadResult, error) {
	r, err := t.log.Read(ctx, from, limit)
	return r, t.fail("read", err)
}

// ReadOrWait is Read that waits until there is something to read; of a
// terminated topic that was read to its end it says [ErrNoMoreEntries].
func (t *Topic) ReadOrWait(ctx context.Context, from sdk.Position, limit managedledger.Max) (managedledger.ReadResult, error) {
	r, err := t.log.ReadOrWait(ctx, from, limit)
	return r, t.fail("read", err)
}

// FindTime returns the position of the first entry published at or after
// moment, or the tail if there is none. Where publish times do not rise it is
// one of the places where they pass moment.
func (t *Topic) FindTime(ctx context.Context, moment time.Time) (sdk.Position, error) {
	p, err := t.log.FindTime(ctx, moment)
	return p, t.fail("find time", err)
}

// Resolve returns the position that a start stands for now.
func (t *Topic) Resolve(from managedledger.Start) sdk.Position { return t.log.Resolve(from) }

// LastConfirmed returns the position of the last confirmed entry.
func (t *Topic) LastConfirmed() sdk.Position { return t.log.LastConfirmed() }
