package scheduling

import (
	"math/rand/v2"
	"time"
)

// The clock costs 20 to 40 ns, which is what a whole task may cost. So busy
// time is read at the turns from one kind to another and carried forward, and
// waiting time is measured on one task in eight of each kind, at random places,
// since a regular pattern could always meet the first task of a burst.

// sampleEvery is the mean distance of tasks whose waiting time is measured.
const sampleEvery = 8

// clock is a monotonic clock that starts above 0.
type clock struct{ epoch time.Time }

func newClock() clock { return clock{epoch: time.Now().Add(-1)} }

// now returns nanoseconds.
func (c clock) now() int64 { return int64(time.Since(c.epoch)) }

// sum is what is known of the tasks of one kind. Times are in nanoseconds.
type sum struct {
	tasks  int64 // ended
	queued int64 // of these, not run by their caller at once
	busy   int64
	// waited is over the measured tasks only.
	waited, measured int64
}

func (s *sum) add(o *sum) {
	s.tasks += o.tasks
	s.queued += o.queued
	s.busy += o.busy
	s.waited += o.waited
	s.measured += o.measured
}

// stats scales what was measured to all that was queued.
func (s *sum) stats() KindStats {
	k := KindStats{Tasks: s.tasks, Busy: time.Duration(s.busy)}
	if s.measured > 0 {
		k.Waited = time.Duration(float64(s.waited) * float64(s.queued) / float64(s.measured))
	}
	return k
}

// sampler picks the tasks whose waiting time is measured. The lane's lock
// guards it.
type sampler [KindCount]uint8

// pick says whether the next task of a kind is measured. The first one is.
func (s *sampler) pick(kind Kind) bool {
	if s[kind] > 0 {
		s[kind]--
		return false
	}
	s[kind] = uint8(rand.IntN(2*sampleEvery - 1))
	return true
}

// meter measures what one drainer runs on one lane after another. It belongs to
// the drainer.
type meter struct {
	clock  clock
	labels *labels // of the lane; nil if profiles get none
	last   int64   // the stamp that is carried forward
	kind   Kind    // what runs since
	sums   [KindCount]sum
	used   [KindCount]bool
}

// enter begins with another lane, whose first task is of that kind. The stamp
// is carried over from the former lane, unless the drainer waited between them.
func (m *meter) enter(l *strand, kind Kind, waited bool) {
	if waited {
		m.last = m.clock.now()
	}
	m.labels = l.labels
	m.turn(kind)
}

func (m *meter) turn(kind Kind) {
	m.kind = kind
	m.used[kind] = true
	if m.labels != nil {
		m.labels.set(kind)
	}
}

// stamp settles the time since the last stamp.
func (m *meter) stamp() {
	now := m.clock.now()
	m.sums[m.kind].busy += now - m.last
	m.last = now
}

// begin is called at the start of each task.
func (m *meter) begin(r *record) {
	if r.kind != m.kind {
		m.stamp()
		m.turn(r.kind)
	} else if r.taken != 0 {
		m.stamp()
	}
	s := &m.sums[r.kind]
	s.tasks++
	if r.taken != 0 {
		s.waited += max(m.last-r.taken, 0)
		s.measured++
	}
}

// settle moves what was measured into the sums of the lane.
func (m *meter) settle(sums *[KindCount]sum) {
	for kind, used := range m.used {
		if used {
			s := &m.sums[kind]
			s.queued = s.tasks
			sums[kind].add(s)
			*s = sum{}
		}
	}
	clear(m.used[:])
	m.used[m.kind] = true
}
