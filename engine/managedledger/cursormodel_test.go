package managedledger

import (
	"slices"
	"strconv"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
)

func (y *cursorHistory) read() {
	if y.reading {
		return
	}
	y.reading, y.begun = true, slices.Clone(y.acked)
	y.log("read from %d", y.place)
	limit := Max{Entries: 1 + y.rand.IntN(10), Bytes: y.rand.IntN(3) * 4}
	o := ReadOptions{Wait: y.rand.IntN(2) == 0}
	c := y.c
	err := c.ReadAsync(limit, o, func(r ReadResult, err error) {
		if err == nil && len(r.Entries) == 0 && (o.Wait || c.HasMore()) {
			y.t.Errorf("nothing handed over; waits %t, more %t", o.Wait, c.HasMore())
		}
		y.tell(func() {
			if y.c == c { // else its owner has crashed
				y.got(r, err)
			}
		})
	})
	if err != nil {
		y.t.Fatal(err)
	}
}

// got checks the end of a read: what lies between the place and the end is
// delivered or acknowledged, and nothing that was acknowledged before.
func (y *cursorHistory) got(r ReadResult, err error) {
	y.reading = false
	y.log("read ends: %v next %s, %v", texts(r.Entries), r.Next, err)
	if err != nil {
		return
	}
	if r.Gone {
		y.t.Errorf("gone until %s, but this cursor holds what it has not acknowledged", r.GoneUntil)
	}
	for _, e := range r.Entries {
		i, _ := strconv.Atoi(string(e.Payload))
		y.know(i, e.Position)
		if i < y.place {
			y.t.Errorf("entry %d at %s, place %d", i, e.Position, y.place)
			return
		}
		for ; y.place < i; y.place++ {
			if !y.acked[y.place] {
				y.t.Errorf("entry %d was left out before %d", y.place, i)
			}
		}
		if i < len(y.begun) && y.begun[i] {
			y.t.Errorf("entry %d was acknowledged", i)
		}
		y.place = i + 1
		y.delivered = append(y.delivered, i)
	}
}

func (y *cursorHistory) acknowledge() {
	if len(y.delivered) == 0 {
		return
	}
	var indexes []int
	var positions []sdk.Position
	var upTo *sdk.Position
	if y.rand.IntN(4) == 0 {
		last := y.delivered[y.rand.IntN(len(y.delivered))]
		upTo = &y.where[last]
		for i := range last + 1 {
			indexes = append(indexes, i)
		}
	} else {
		for range 1 + y.rand.IntN(4) {
			i := y.delivered[y.rand.IntN(len(y.delivered))]
			indexes, positions = append(indexes, i), append(positions, y.where[i])
		}
	}
	for _, i := range indexes {
		y.acked[i] = true
	}
	y.log("acknowledge %v", indexes)
	y.unanswered++
	c := y.c
	c.AcknowledgeAsync(positions, upTo, func(err error) {
		y.tell(func() {
			if y.c != c {
				return
			}
			y.unanswered--
			for _, i := range indexes {
				y.sure[i] = y.sure[i] || err == nil && y.acked[i] // else a seek came behind
			}
		})
	})
}

// kept says whether trimming has left the entry in the log.
func (y *cursorHistory) kept(i int) bool {
	v := y.m.current()
	return v.trimmed == notTrimmed || y.where[i].After(v.trimmed)
}

func (y *cursorHistory) firstUnacked() int {
	for i, acked := range y.acked {
		if !acked {
			return i
		}
	}
	return len(y.acked)
}

// compare checks what can be asked at any time.
func (y *cursorHistory) compare() {
	var backlog int64
	for i, acked := range y.acked {
		if !y.kept(i) && !acked {
			y.t.Errorf("entry %d was trimmed, but not acknowledged", i)
		}
		if y.kept(i) && !acked {
			backlog++
		}
	}
	if n := y.c.Backlog(); n != backlog {
		y.t.Errorf("backlog %d, want %d", n, backlog)
	}
}

// drain reads all that is left, with the stores in order again.
func (y *cursorHistory) drain() {
	for y.reading {
		if y.c.CancelWait() {
			y.reading = false
			break
		}
		<-time.After(retryMost)
		y.steps.RunAll()
		y.listen()
	}
	y.restartReads(y.firstUnacked())
	y.c.Rewind()
	y.delivered = nil
	for len(y.delivered) == 0 || y.place < len(y.where) {
		before := y.place
		y.read()
		y.steps.RunAll()
		y.listen()
		if y.place == before && !y.reading {
			if rest := slices.Index(y.acked[min(y.place, len(y.acked)):], false); rest >= 0 {
				continue // a scripted failure
			}
			break
		}
		if y.reading && y.c.CancelWait() {
			y.reading = false
			break
		}
	}
	var want []int
	for i, acked := range y.acked {
		if !acked {
			want = append(want, i)
		}
	}
	if !slices.Equal(y.delivered, want) {
		y.t.Errorf("in the end read %v, want %v", y.delivered, want)
	}
}
