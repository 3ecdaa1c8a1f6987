package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// settle ends the doubt about appends of unknown outcome, if there is any: it
// has the log close its ledger, by which it learns what the ledger holds, and
// takes in the entries that nobody has heard of.
func (p *producerSnapshots) settle(ctx context.Context) error {
	if !p.set.doubt.Load() {
		return nil
	}
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	if !p.set.doubt.Load() {
		return nil
	}
	// What was handed over before the doubt is answered first: it is among
	// the entries, or not stored.
	for pause := time.Millisecond; p.set.inFlight.Load() > 0; pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("waiting for appends to end: %w", ctx.Err())
		}
	}
	if err := p.topic.log.Roll(ctx); err != nil {
		return fmt.Errorf("find out what was stored: %w", err)
	}
	p.mu.Lock()
	from := p.progress
	p.mu.Unlock()
	if err := p.replay(ctx, from); err != nil {
		return fmt.Errorf("find out what was stored: read the entries behind %v: %w", from, err)
	}
	p.set.doubt.Store(false)
	return nil
}

// settleLater has the doubt ended in the background, by one at a time. If that
// fails the next append asks again.
func (p *producerSnapshots) settleLater() {
	if !p.settling.CompareAndSwap(false, true) {
		return
	}
	if err := p.topic.engine.executor.Go(scheduling.TaskFunc(p.settleQueued)); err != nil {
		p.settling.Store(false)
	}
}

func (p *producerSnapshots) settleQueued() {
	defer p.settling.Store(false)
	ctx, cancel := context.WithTimeout(p.topic.engine.life, snapshotTimeout)
	defer cancel()
	if err := p.settle(ctx); err != nil && ctx.Err() == nil {
		p.set.logger.Warn("what was stored when the store failed is not known yet", "error", err)
	}
}

// accounted returns a position up to which everything that named producers
// stored is in the records, and how many entries are not part of a snapshot.
func (p *producerSnapshots) accounted() (sdk.Position, int) {
	// First the LAC, then whether anything is in flight or in doubt: if not,
	// all up to that LAC has been answered, and what comes is behind it.
	lac := p.set.log.LastConfirmed()
	quiet := p.set.inFlight.Load() == 0 && !p.set.doubt.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	if quiet && lac.After(p.progress) {
		return lac, p.unsaved
	}
	return p.progress, p.unsaved
}
