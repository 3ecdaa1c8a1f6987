package scheduling

// budget is how many tasks a drainer runs on a lane before it lets others have
// their turn.
const budget = 256

// drainer is a goroutine that runs the tasks of lanes, one lane at a time. Its
// fields are its own.
type drainer struct {
	pool  *Pool
	meter meter
	lane  *strand // that it owns
	// batch is what the lane's queue begins with; the first done of it have
	// been begun.
	batch []record
	done  int
}

func newDrainer(pool *Pool) *drainer {
	return &drainer{pool: pool, meter: meter{clock: pool.clock}}
}

// live runs lanes until the ready queue is stopped.
func (d *drainer) live() {
	defer d.die()
	lane, waited := d.pool.ready.pop(true)
	for lane != nil {
		d.lane = lane
		more := d.drain(waited)
		d.lane = nil
		if more {
			lane, waited = d.pool.ready.exchange(lane), false
			continue
		}
		if d.meter.labels != nil {
			unset()
		}
		lane, waited = d.pool.ready.pop(false)
	}
}

// die ends a drainer. If a task ended the goroutine, its lane goes on with
// another one.
func (d *drainer) die() {
	if l := d.lane; l != nil {
		d.meter.stamp()
		if more := d.settle(); more {
			d.pool.ready.push(l)
		}
	}
	d.pool.ready.leave()
}

// drain runs tasks of the lane until none is left or the budget is used up. It
// returns whether some are left; if not, the lane is no longer the drainer's.
func (d *drainer) drain(waited bool) (more bool) {
	d.lane.mu.Lock()
	d.batch, d.done = d.lane.queue.batch(), 0
	d.lane.mu.Unlock()
	d.meter.enter(d.lane, d.batch[0].kind, waited)
	for left := budget; ; {
		left -= len(d.batch)
		for d.done < len(d.batch) {
			d.run()
		}
		d.meter.stamp()
		if more = d.settle(); !more || left <= 0 {
			return more
		}
	}
}

// settle takes what was run from the queue and returns whether something is
// left; if not, the lane is disowned.
func (d *drainer) settle() (more bool) {
	l, done := d.lane, d.done
	l.mu.Lock()
	d.meter.settle(&l.sums)
	l.queue.drop(done, &d.pool.slabs)
	d.batch, d.done = l.queue.batch(), 0
	more = len(d.batch) > 0
	if !more {
		l.disown()
	}
	l.mu.Unlock()
	d.pool.ended(done)
	return more
}

// run begins with the next task and ends after the last, or with the first that
// panics.
func (d *drainer) run() {
	ended := false
	defer func() {
		if !ended {
			r := &d.batch[d.done-1]
			d.pool.panicked(d.lane.name, r.kind, r.task, panicOf(recover()))
		}
	}()
	for d.done < len(d.batch) {
		r := &d.batch[d.done]
		d.done++
		d.meter.begin(r)
		r.task.Run()
	}
	ended = true
}
