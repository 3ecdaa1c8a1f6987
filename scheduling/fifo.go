package scheduling

import "sync"

// record is one task that waits.
type record struct {
	task Task
	// taken is when the task was taken, by the pool's clock, if it is one of
	// the tasks whose waiting time is measured; else 0.
	taken int64
	kind  Kind
}

// slabSize is how many records a slab holds.
const slabSize = 64

// slab is a piece of a queue. Slabs come from a sync.Pool and go back to it, so
// that a queue that is empty holds no memory and one that is busy allocates
// none.
type slab struct {
	next     *slab
	from, to int // the records that are in the queue
	records  [slabSize]record
}

// fifo is a queue of records.
type fifo struct {
	head, tail *slab
	count      int
}

func (q *fifo) push(r record, slabs *sync.Pool) {
	s := q.tail
	if s == nil || s.to == slabSize {
		s = slabs.Get().(*slab)
		if q.tail == nil {
			q.head = s
		} else {
			q.tail.next = s
		}
		q.tail = s
	}
	s.records[s.to] = r
	s.to++
	q.count++
}

// batch returns the next records without taking them from the queue, at least
// one if there is one.
func (q *fifo) batch() []record {
	if q.count == 0 {
		return nil
	}
	return q.head.records[q.head.from:q.head.to]
}

// drop forgets the first n records, which batch returned.
func (q *fifo) drop(n int, slabs *sync.Pool) {
	s := q.head
	clear(s.records[s.from : s.from+n])
	s.from += n
	q.count -= n
	if s.from < s.to {
		return
	}
	q.head = s.next
	if q.head == nil {
		q.tail = nil
	}
	s.next, s.from, s.to = nil, 0, 0
	slabs.Put(s)
}

// pop takes the first record; there must be one.
func (q *fifo) pop(slabs *sync.Pool) record {
	r := q.batch()[0]
	q.drop(1, slabs)
	return r
}

func newSlab() any { return new(slab) }
