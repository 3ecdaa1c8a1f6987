package scheduling

import "time"

// A drainer's turn on a lane ends after this many tasks, or at the first look
// at the clock (at least one task in 15) after this long.
const (
	turnTasks = 256
	turnTime  = int64(time.Millisecond)
)

// drainer is a goroutine that runs the tasks of lanes, one lane at a time. Its
// fields are its own.
type drainer struct {
	pool  *Pool
	meter meter
	lane  *strand // that it owns
	// batch is what the lane's backlog begins with; the first done of it have
	// been begun. ended counts those that left the backlog before.
	batch       []record
	done, ended int
	until       int64 // when the turn ends
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
		d.forget()
		d.meter.stamp()
		if more := d.settle(true); more {
			d.pool.ready.push(l)
		}
	}
	d.pool.ready.leave()
}

// drain runs tasks of the lane until none is left or the turn is over. It
// returns whether some are left; if not, the lane is no longer the drainer's.
func (d *drainer) drain(waited bool) (more bool) {
	l := d.lane
	if l.backlog.count == 0 {
		l.mu.Lock()
		l.fetch()
		l.mu.Unlock()
	}
	d.batch = l.backlog.batch()
	d.meter.enter(l, d.batch[0].kind, waited)
	d.until = d.meter.last + turnTime
	for left := turnTasks; ; {
		for d.done < len(d.batch) && !d.late() {
			d.run()
		}
		left -= d.done
		d.forget()
		d.meter.stamp()
		over := left <= 0 || d.late()
		if more = d.settle(over); !more || over {
			return more
		}
		d.batch = l.backlog.batch()
	}
}

// forget takes what was run from the backlog.
func (d *drainer) forget() {
	d.lane.backlog.drop(d.done, &d.pool.slabs)
	d.pool.ended(d.done)
	d.ended += d.done
	d.batch, d.done = nil, 0
}

// settle tells the lane what was run and fetches more if the backlog is empty.
// It returns whether there is something; if not, the lane is disowned. While
// there is a backlog and others crowd the lock it does nothing unless it must.
func (d *drainer) settle(must bool) (more bool) {
	l := d.lane
	if must || l.backlog.count == 0 {
		l.mu.Lock()
	} else if !l.mu.TryLock() {
		return true
	}
	defer l.mu.Unlock()
	d.meter.settle(&l.sums)
	l.dequeued(d.ended)
	d.ended = 0
	if l.backlog.count == 0 && !l.fetch() {
		l.disown()
		return false
	}
	return true
}

// late says whether the turn has lasted too long.
func (d *drainer) late() bool { return d.meter.last >= d.until }

// run begins with the next task and ends after the last, with the first that
// panics, or late.
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
		if d.late() {
			break
		}
	}
	ended = true
}
