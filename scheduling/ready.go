package scheduling

import "sync"

// ready is the queue of the lanes that have tasks and no owner, with the
// drainers that take them from it. Drainers that find it empty stay and wait:
// waking one is cheaper than starting one. At most limit are started.
type ready struct {
	limit int
	// start lets a new drainer begin, on a goroutine of its own.
	start func()
	// gone counts the drainers that were started and have not ended.
	gone sync.WaitGroup

	mu         sync.Mutex // guards all below and the next field of each lane
	more       sync.Cond  // a lane was pushed, or stopped was set
	head, tail *strand
	count      int
	started    int
	parked     int
	// rousing says that a drainer was started or woken and has not come to the
	// queue yet. It looks after what is pushed meanwhile, so that a burst of
	// pushes costs one wake-up: if it leaves something, it rouses the next.
	rousing bool
	stopped bool
}

func (q *ready) init(limit int, start func()) {
	q.limit, q.start = limit, start
	q.more.L = &q.mu
}

// push puts a lane at the tail. The caller owns the lane and gives it away.
func (q *ready) push(l *strand) {
	q.mu.Lock()
	q.append(l)
	begin := q.rouse()
	q.mu.Unlock()
	if begin {
		q.start()
	}
}

// pop waits for a lane and makes the caller its owner. It returns nil when the
// queue was stopped. fresh says that the caller is a drainer that just began,
// waited whether time went by.
func (q *ready) pop(fresh bool) (l *strand, waited bool) {
	q.mu.Lock()
	if fresh {
		q.rousing, waited = false, true
	}
	for q.head == nil && !q.stopped {
		q.parked++
		q.more.Wait()
		q.parked--
		q.rousing, waited = false, true
	}
	l = q.take()
	begin := l != nil && q.head != nil && q.rouse()
	q.mu.Unlock()
	if begin {
		q.start()
	}
	return l, waited
}

// exchange puts l at the tail and returns the head, which is l itself if no
// other lane waits.
func (q *ready) exchange(l *strand) *strand {
	q.mu.Lock()
	q.append(l)
	l = q.take()
	q.mu.Unlock()
	return l
}

// rouse sees to it that a drainer comes if one more may. It returns whether the
// caller has to call start, after unlocking.
func (q *ready) rouse() (begin bool) {
	switch {
	case q.rousing || q.stopped:
	case q.parked > 0:
		q.rousing = true
		q.more.Signal()
	case q.started < q.limit:
		q.rousing = true
		q.started++
		q.gone.Add(1)
		return true
	}
	return false
}

// leave takes a drainer off the count. A task ended its goroutine; the next
// lane that needs a drainer starts another one, and if lanes wait, now.
func (q *ready) leave() {
	q.mu.Lock()
	q.started--
	begin := q.head != nil && q.rouse()
	q.mu.Unlock()
	if begin {
		q.start()
	}
	q.gone.Done()
}

// stop lets the drainers end and waits for them. No lane has tasks any more.
func (q *ready) stop() {
	q.mu.Lock()
	q.stopped = true
	q.more.Broadcast()
	q.mu.Unlock()
	q.gone.Wait()
}

func (q *ready) append(l *strand) {
	if q.tail == nil {
		q.head = l
	} else {
		q.tail.next = l
	}
	q.tail = l
	q.count++
}

func (q *ready) take() *strand {
	l := q.head
	if l == nil {
		return nil
	}
	q.head, l.next = l.next, nil
	if q.head == nil {
		q.tail = nil
	}
	q.count--
	return l
}
