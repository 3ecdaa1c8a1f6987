package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// closers is how many topics Close closes at the same time: enough to share
// the syncs of a store, few enough not to flood it.
const closers = 64

// Close ends the engine: new operations are refused, maintenance stops, all
// topics close side by side (adds handed over before are answered, waiting
// reads end with [sdk.ErrClosed]), lanes drain, and the pool that the engine
// made ends. It does not close the stores, which the caller does next.
//
// If ctx ends first the error names what did not finish. It is safe to close
// the stores all the same; what was not acknowledged is then not promised.
// Closing again waits for the same end and gives the same answer.
func (e *Engine) Close(ctx context.Context) error {
	if !e.closing.CompareAndSwap(false, true) {
		select {
		case <-e.closed:
			return e.closeErr
		case <-ctx.Done():
			return fmt.Errorf("engine: waiting for another Close: %w", ctx.Err())
		}
	}
	e.endLife()
	<-e.maintained // it never blocks
	problems := e.closeTopics(ctx, e.topics.drain())
	problems = append(problems, e.closePool(ctx))
	e.closeErr = errors.Join(problems...)
	close(e.closed)
	return e.closeErr
}

// closePool ends the executor, if it is the engine's own.
func (e *Engine) closePool(ctx context.Context) error {
	if e.pool == nil {
		return nil
	}
	if err := e.pool.Close(ctx); err != nil {
		return fmt.Errorf("engine: close the pool: %w", err)
	}
	return nil
}

// closeTopics closes the topics of slots, several at a time, and returns what
// went wrong.
func (e *Engine) closeTopics(ctx context.Context, slots []*topicSlot) []error {
	var (
		mu       sync.Mutex // guards problems
		problems []error
		running  sync.WaitGroup // goroutines end when their topic is closed or ctx ends
		room     = make(chan struct{}, closers)
	)
	for _, slot := range slots {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			if err := slot.close(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				problems = append(problems, err)
			}
		})
	}
	running.Wait()
	return problems
}
