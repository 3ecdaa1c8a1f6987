package server

import (
	"context"
	"fmt"
	"sync"

	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// cursorKey names a cursor of all topics.
type cursorKey struct{ topic, cursor string }

// holders knows which stream reads through which cursor: one at a time. The
// newest gets it, because a client whose connection broke comes back before the
// server has noticed that it was gone.
type holders struct {
	mu   sync.Mutex // guards held
	held map[cursorKey]*holder
}

// holder is one stream that reads through a cursor.
type holder struct {
	key cursorKey
	// ctx ends when a newer stream wants the cursor, and taken is closed.
	ctx    context.Context
	cancel context.CancelCauseFunc
	taken  chan struct{}
	// gone is closed when the stream does not use the cursor any more.
	gone chan struct{}
}

func newHolders() *holders { return &holders{held: map[cursorKey]*holder{}} }

// take gives a cursor to a new stream and returns once the former one has let
// go of it.
func (h *holders) take(ctx context.Context, topic, cursor string) (*holder, error) {
	mine := &holder{key: cursorKey{topic, cursor}, taken: make(chan struct{}), gone: make(chan struct{})}
	mine.ctx, mine.cancel = context.WithCancelCause(ctx)
	h.mu.Lock()
	former := h.held[mine.key]
	h.held[mine.key] = mine
	h.mu.Unlock()
	if former == nil {
		return mine, nil
	}
	former.cancel(fmt.Errorf("cursor %q: %w: a newer stream reads through it", cursor, reason.ErrReadInFlight))
	close(former.taken)
	select {
	case <-former.gone:
		return mine, nil
	case <-mine.ctx.Done():
		go func() { // ends when the former stream does: who comes next waits for both
			<-former.gone
			h.release(mine)
		}()
		return nil, context.Cause(mine.ctx)
	}
}

// release lets go of a cursor.
func (h *holders) release(mine *holder) {
	h.mu.Lock()
	if h.held[mine.key] == mine {
		delete(h.held, mine.key)
	}
	h.mu.Unlock()
	mine.cancel(context.Canceled)
	close(mine.gone)
}

// connected says whether a stream reads through a cursor.
func (h *holders) connected(topic, cursor string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held[cursorKey{topic, cursor}] != nil
}
