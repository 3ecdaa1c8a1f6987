package managedledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// A failed job is tried again, maxRetries times, first after retryFirst and
// then twice as long each time: about a second in all. Then whoever needs it
// hears of the failure, and the next one who does starts anew.
const (
	maxRetries = 6
	retryFirst = 16 * time.Millisecond
)

// job is a change of what is stored about the log. Jobs run one at a time and
// in order, so that each works on what the former one left.
type job interface {
	// begin runs on the lane; false means that there is nothing to do.
	begin() bool
	// run does what may block, on an executor goroutine. It may be called again
	// after an error and then goes on where it was.
	run(ctx context.Context) error
	// finish runs on the lane, once, also if there was nothing to do.
	finish(err error)
}

// jobs are the jobs of one log. Only the lane touches them.
type jobs struct {
	queue   []job
	running *runner
	// stopped is why no job is begun any more.
	stopped error
}

// enqueue adds a job. It runs on the lane.
func (m *ManagedLedger) enqueue(j job) {
	m.lanes.jobs.queue = append(m.lanes.jobs.queue, j)
	m.nextJob()
}

// nextJob begins the next job if none is running.
func (m *ManagedLedger) nextJob() {
	s := &m.lanes.jobs
	for s.running == nil && len(s.queue) > 0 {
		j := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		// A job counts as running until finish has returned: what begin and
		// finish do may ask for another one.
		s.running = &runner{m: m, job: j}
		if _, last := j.(*closeJob); s.stopped != nil && !last {
			j.finish(s.stopped)
		} else if j.begin() {
			s.running.start()
			return
		} else {
			j.finish(nil)
		}
		s.running = nil
	}
}

// runner is one job on its way.
type runner struct {
	m     *ManagedLedger
	job   job
	tries int
	err   error
}

// start hands the job to the executor.
func (r *runner) start() {
	if err := r.m.settings.Executor.Go(r); err != nil {
		r.end(fmt.Errorf("%w: %w", sdk.ErrBusy, err))
	}
}

// Run is the part that may block.
func (r *runner) Run() {
	base := r.m.work
	if c, ok := r.job.(*closeJob); ok {
		base = c.ctx
	}
	ctx, cancel := base, context.CancelFunc(func() {})
	if limit := r.m.config().StoreTimeout; limit > 0 {
		ctx, cancel = context.WithTimeout(base, limit)
	}
	defer cancel()
	r.end(r.job.run(ctx))
}

// Failed is told that the job panicked.
func (r *runner) Failed(err error) { r.end(fmt.Errorf("managed ledger %q: %w", r.m.name, err)) }

// end goes on with the result on the lane.
func (r *runner) end(err error) {
	r.err = err
	r.m.post(scheduling.KindMetadata, scheduling.TaskFunc(r.ended))
}

// ended finishes the job, or sees to it that it is tried again.
func (r *runner) ended() {
	m := r.m
	if r.err != nil && m.ctx.Err() == nil && r.tries < maxRetries && transient(r.err) {
		delay := retryFirst << r.tries
		r.tries++
		time.AfterFunc(delay, r.start)
		return
	}
	if errors.Is(r.err, sdk.ErrFenced) || errors.Is(r.err, ErrDeleting) {
		m.fence(r.err)
	}
	if _, last := r.job.(*closeJob); r.err != nil && m.lanes.jobs.stopped != nil && !last {
		r.err = m.lanes.jobs.stopped // the rest is what came of stopping
	}
	r.job.finish(r.err)
	m.lanes.jobs.running = nil
	m.nextJob()
}

// transient says whether trying again soon may help. What took as long as a
// store may take has been tried long enough.
func transient(err error) bool {
	for _, lasting := range []error{
		context.DeadlineExceeded,
		sdk.ErrFull, sdk.ErrCorrupt, sdk.ErrTooLarge, sdk.ErrInvalid, sdk.ErrUnsupported, sdk.ErrClosed,
		sdk.ErrFenced, sdk.ErrVersionConflict, sdk.ErrLedgerNotFound, sdk.ErrKeyNotFound, ErrDeleting,
	} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	return true
}

// asked is a job that somebody waits for.
type asked struct{ done chan error }

func newAsked() asked { return asked{make(chan error, 1)} }

// do queues a job on the lane and waits for its end. When ctx ends first the
// job goes on.
func (m *ManagedLedger) do(ctx context.Context, j job, done <-chan error) error {
	if err := m.lane.Run(scheduling.KindMetadata, scheduling.TaskFunc(func() { m.enqueue(j) })); err != nil {
		if isClosedLane(err) {
			return ErrClosed
		}
		return fmt.Errorf("%w: %w", sdk.ErrBusy, err)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func isClosedLane(err error) bool { return errors.Is(err, scheduling.ErrClosed) }
