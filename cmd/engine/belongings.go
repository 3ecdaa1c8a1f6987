package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.uber.org/fx"
)

// belongings is what the daemon opened, in that order. It ends in reverse
// order, each part once and within a limit of its own, however far the start
// came: fx by itself stops nothing if building the graph fails, and gives all
// parts one time limit together.
type belongings struct {
	log *slog.Logger

	mu     sync.Mutex // guards what follows
	parts  []belonging
	closed bool
}

type belonging struct {
	name  string
	limit time.Duration
	close func(context.Context) error
}

// lifecycle is what a part of the graph gets in place of fx's own: OnStart goes
// through, OnStop is kept here.
type lifecycle struct {
	fx.Lifecycle
	belongings *belongings
	name       string
	limit      time.Duration
}

// Append implements fx.Lifecycle.
func (l lifecycle) Append(hook fx.Hook) {
	if start := hook.OnStart; start != nil {
		l.Lifecycle.Append(fx.Hook{OnStart: func(ctx context.Context) error {
			if err := start(ctx); err != nil {
				return fmt.Errorf("start %s: %w", l.name, err)
			}
			return nil
		}})
	}
	if hook.OnStop != nil {
		l.belongings.add(belonging{l.name, l.limit, hook.OnStop})
	}
}

// add keeps a part for close. What comes too late, from a start that was given
// up, is closed at once.
func (b *belongings) add(part belonging) {
	b.mu.Lock()
	closed := b.closed
	if !closed {
		b.parts = append(b.parts, part)
	}
	b.mu.Unlock()
	if closed {
		err := part.end()
		b.log.Info("stopped, as the start was given up", "part", part.name, "error", err)
	}
}

// take returns the parts, the last one first, and forgets them.
func (b *belongings) take() []belonging {
	b.mu.Lock()
	defer b.mu.Unlock()
	parts := b.parts
	b.parts, b.closed = nil, true
	slices.Reverse(parts)
	return parts
}

// close ends everything and reports what did not end as it should. A part that
// does not come back within its limit is left behind: the next ones still get
// their turn.
func (b *belongings) close() error {
	var problems []error
	for _, part := range b.take() {
		begun := time.Now()
		err := part.end()
		took := slog.Duration("took", time.Since(begun).Round(time.Millisecond))
		if err == nil {
			b.log.Info("stopped", "part", part.name, took)
			continue
		}
		b.log.Error("not stopped as it should be", "part", part.name, took, "error", err)
		problems = append(problems, fmt.Errorf("stop %s: %w", part.name, err))
	}
	return errors.Join(problems...)
}

// grace is how much longer than its limit a part may take to come back.
const grace = time.Second

// end closes one part.
func (p belonging) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), p.limit)
	defer cancel()
	ended := make(chan error, 1) // has room: the goroutine ends even if nobody waits any more
	go func() { ended <- p.close(ctx) }()
	patience := time.NewTimer(p.limit + grace)
	defer patience.Stop()
	select {
	case err := <-ended:
		return err
	case <-patience.C:
		return fmt.Errorf("did not end within %s, left behind: %w", p.limit, context.DeadlineExceeded)
	}
}
