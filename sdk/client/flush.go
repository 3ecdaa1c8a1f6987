package client

import (
	"context"
	"fmt"

	"github.com/tidemark-engine/tidemark/sdk"
)

// flush is somebody who waits for the end of all messages up to a sequence.
type flush struct {
	upTo  uint64
	ended chan struct{}
}

// Flush returns when all that was sent before has ended, well or not, and its
// senders know. An error says that ctx ended first.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.Lock()
	if len(p.queue)+len(p.sent)+p.telling == 0 {
		p.mu.Unlock()
		return nil
	}
	f := flush{upTo: p.accepted, ended: make(chan struct{})}
	p.flushes = append(p.flushes, f)
	if p.timer != nil && p.timer.Stop() {
		p.timer = nil
	}
	p.touch()
	p.mu.Unlock()
	select {
	case <-f.ended:
		return nil
	case <-ctx.Done():
		return p.fail(fmt.Errorf("flush: %w", ctx.Err()))
	}
}

// Close waits until all that was sent has ended and closes the producer. When
// ctx ends first, what is left fails.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	p.isClosed = true
	p.wakeSenders()
	p.mu.Unlock()
	err := p.Flush(ctx)
	p.leave(p.fail(sdk.ErrClosed))
	return err
}

// told notes that the senders of n batches know how they ended, and lets those
// go who waited for that.
func (p *Producer) told(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.telling -= n
	if len(p.flushes) == 0 || p.telling > 0 {
		return // whoever tells last comes by here
	}
	open := p.accepted + 1 // the lowest sequence that has not ended
	if len(p.sent) > 0 {
		open = p.sent[0].first()
	} else if len(p.queue) > 0 {
		open = p.queue[0].first()
	}
	kept := p.flushes[:0]
	for _, f := range p.flushes {
		if f.upTo < open {
			close(f.ended)
		} else {
			kept = append(kept, f)
		}
	}
	clear(p.flushes[len(kept):])
	p.flushes = kept
}
