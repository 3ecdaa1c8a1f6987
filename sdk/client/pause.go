package client

import (
	"context"
	"fmt"
	"time"
)

// How long to wait before a connection or stream is tried again.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// pause grows each time.
type pause struct{ last time.Duration }

// longer returns how long to wait this time.
func (p *pause) longer() time.Duration {
	p.last = min(max(2*p.last, firstPause), lastPause)
	return p.last
}

// wait waits for that long, or until ctx ends.
func (p *pause) wait(ctx context.Context) {
	timer := time.NewTimer(p.longer())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (p *pause) reset() { p.last = 0 }

// attempts is how long something has been tried in vain.
type attempts struct {
	since time.Time // zero: it works
	pause pause
}

func (t *attempts) succeeded() { t.since, t.pause = time.Time{}, pause{} }

// again waits before the next attempt, or returns why there is none.
func (t *attempts) again(ctx context.Context, c *Client, err error) error {
	switch {
	case c.life.Err() != nil:
		return errClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case !passing(err):
		return err
	}
	if t.since.IsZero() {
		t.since = time.Now()
	}
	if waited := time.Since(t.since); waited >= c.options.RetryFor {
		return fmt.Errorf("no success for %v: %w", waited.Round(time.Millisecond), err)
	}
	t.pause.wait(ctx)
	return nil
}

// within returns a context that also ends with the client.
func (c *Client) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// notify puts a token in a channel that has room for one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
