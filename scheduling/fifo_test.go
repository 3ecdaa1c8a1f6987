package scheduling

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// TestFifo pushes and drops at random and compares with a slice.
func TestFifo(t *testing.T) {
	slabs := &sync.Pool{New: newSlab}
	var q fifo
	var want []int64
	r := rand.New(rand.NewPCG(1, 2))
	var pushed int64
	for range 20_000 {
		for range r.IntN(3 * slabSize / (1 + r.IntN(slabSize))) {
			pushed++
			q.push(record{task: TaskFunc(func() {}), taken: pushed}, slabs)
			want = append(want, pushed)
		}
		if q.count != len(want) {
			t.Fatalf("count %d, want %d", q.count, len(want))
		}
		batch := q.batch()
		if (len(batch) == 0) != (len(want) == 0) {
			t.Fatalf("a batch of %d of %d", len(batch), len(want))
		}
		if len(batch) == 0 {
			continue
		}
		for i := range batch {
			if batch[i].taken != want[i] {
				t.Fatalf("record %d, want %d", batch[i].taken, want[i])
			}
		}
		n := 1 + r.IntN(len(batch))
		q.drop(n, slabs)
		want = want[n:]
	}
	if len(want) == 0 && (q.head != nil || q.tail != nil) {
		t.Error("an empty queue holds memory")
	}
}

// TestFifoForgets checks that a queue does not keep what was dropped.
func TestFifoForgets(t *testing.T) {
	slabs := &sync.Pool{New: newSlab}
	var q fifo
	for range 3 {
		q.push(record{task: TaskFunc(func() {})}, slabs)
	}
	q.drop(2, slabs)
	for i, r := range q.head.records[:3] {
		if (r.task == nil) != (i < 2) {
			t.Errorf("record %d of three, two of them dropped: task %v", i, r.task != nil)
		}
	}
}
