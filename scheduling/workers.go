package scheduling

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/panjf2000/ants/v2"
)

// workers lends goroutines: the drainers and the blocking work of a pool live
// on them. How many are lent at a time is for its callers to bound; ants keeps
// those that came back for the next use. This is the one file that knows ants.
type workers struct {
	pool *ants.PoolWithFuncGeneric[func()]
}

// idleWorker is how long a goroutine without use is kept.
const idleWorker = 10 * time.Second

func newWorkers(size int, logger *slog.Logger) (*workers, error) {
	pool, err := ants.NewPoolWithFuncGeneric(size, func(run func()) { run() },
		ants.WithNonblocking(true),
		ants.WithExpiryDuration(idleWorker),
		ants.WithLogger(antsLogger{logger}))
	if err != nil {
		return nil, fmt.Errorf("scheduling: start %d workers: %w", size, err)
	}
	return &workers{pool: pool}, nil
}

// start calls run on a goroutine of its own, without blocking. run catches its
// panics. If ants has none to lend, as in the short moment between the end of a
// run and the return of its goroutine, a plain one takes it: callers keep to
// the size, and nothing may wait here.
func (w *workers) start(run func()) {
	if w.pool.Invoke(run) != nil {
		go run() // ends when run does, which its caller waits for
	}
}

// release ends the idle goroutines and waits for ants to have done so.
func (w *workers) release(ctx context.Context) error {
	if err := w.pool.ReleaseContext(ctx); err != nil {
		return fmt.Errorf("scheduling: release the workers: %w", err)
	}
	return nil
}

// antsLogger passes on what ants has to say, which is nothing as long as no run
// panics.
type antsLogger struct{ logger *slog.Logger }

func (l antsLogger) Printf(format string, args ...any) {
	l.logger.Error("scheduling: ants: " + fmt.Sprintf(format, args...))
}
