package engine

import (
	"context"
	"time"
)

// rounds is into how many parts the maintenance of all topics is spread over
// one interval.
const rounds = 16

// maintain is the engine's one maintenance goroutine; Close ends it by ending
// life. It never blocks on a store: what takes long is handed to the executor
// by those it calls.
func (e *Engine) maintain(life context.Context) {
	defer close(e.maintained)
	interval := e.Config().MaintenanceInterval
	ticker := time.NewTicker(max(interval/rounds, time.Millisecond))
	defer ticker.Stop()
	var left []*Topic // of this interval's topics, those not looked after yet
	for round := 0; ; round = (round + 1) % rounds {
		select {
		case <-life.Done():
			return
		case <-ticker.C:
		}
		if changed := e.Config().MaintenanceInterval; changed != interval {
			interval = changed
			ticker.Reset(max(interval/rounds, time.Millisecond))
		}
		moment := now()
		e.cache.Evict(moment)
		if round == 0 {
			left = e.topics.open()
		}
		n := (len(left) + rounds - 1 - round) / (rounds - round)
		for _, t := range left[:n] {
			t.maintain(moment)
		}
		clear(left[:n])
		left = left[n:]
	}
}

// maintain looks after one topic.
func (t *Topic) maintain(moment time.Time) {
	if t.fate.Load() != fateOpen {
		return
	}
	t.log.Maintain(moment)
	t.producers.snapshots.maintain()
}
