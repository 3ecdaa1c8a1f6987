package grid

import (
	"errors"
	"slices"
	"strconv"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
)

// reading is one read of a cursor by callback. It checks, when it is called
// back, what must hold of every read:
//
//   - it is called once, and not after it was cancelled;
//   - positions rise strictly, and none is behind the LAC or the caller's bound;
//   - entries are handed over if there are any to hand over, unless the caller
//     left them out;
//   - the log and the cursor can be asked, so no lock is held.
type reading struct {
	b         *bed
	c         *managedledger.Cursor
	options   managedledger.ReadOptions
	most      int
	calls     int
	cancelled bool
	result    managedledger.ReadResult
	err       error
	ended     chan struct{} // closed by the first call
}

// read starts a read.
func (b *bed) read(c *managedledger.Cursor, most int, o managedledger.ReadOptions) *reading {
	b.t.Helper()
	r := b.reading(c, most, o)
	if err := c.ReadAsync(managedledger.Max{Entries: most}, o, r.called); err != nil {
		b.t.Fatalf("read: %v", err)
	}
	return r
}

func (b *bed) reading(c *managedledger.Cursor, most int, o managedledger.ReadOptions) *reading {
	return &reading{b: b, c: c, most: most, options: o, ended: make(chan struct{})}
}

// await runs what waits to run until the read has ended: for those that end on a
// goroutine that is not the test's.
func (r *reading) await() {
	r.b.t.Helper()
	if err := r.b.steps.RunUntil(r.b.ctx, r.ended); err != nil {
		r.b.t.Fatal(err)
	}
}

// readNow starts a read, runs it to its end and returns what it yields.
func (b *bed) readNow(c *managedledger.Cursor, most int, o managedledger.ReadOptions) []int {
	b.t.Helper()
	r := b.read(c, most, o)
	b.settle()
	return r.entries()
}

// drain reads until nothing is left.
func (b *bed) drain(c *managedledger.Cursor, most int) []int {
	b.t.Helper()
	var all []int
	for {
		part := b.readNow(c, most, managedledger.ReadOptions{})
		if len(part) == 0 {
			return all
		}
		all = append(all, part...)
	}
}

func (r *reading) called(result managedledger.ReadResult, err error) {
	t := r.b.t
	r.calls++
	if r.calls > 1 || r.cancelled {
		t.Errorf("callback called %d times, cancelled %t", r.calls, r.cancelled)
	}
	r.result, r.err = result, err
	if r.calls == 1 {
		defer close(r.ended)
	}
	stats := r.c.Stats()
	lac := r.b.log.Stats().LastConfirmed
	if err != nil {
		if len(result.Entries) > 0 {
			t.Errorf("entries beside an error: %v", err)
		}
		return
	}
	before := sdk.Position{Entry: sdk.NoEntry}
	for _, e := range result.Entries {
		beyond := r.options.UpTo != nil && e.Position.After(*r.options.UpTo)
		if !e.Position.After(before) || e.Position.After(lac) || beyond {
			t.Errorf("entry %s after %s, LAC %s, bound %v", e.Position, before, lac, r.options.UpTo)
		}
		before = e.Position
	}
	if len(result.Entries) > r.most {
		t.Errorf("%d entries, asked for %d", len(result.Entries), r.most)
	}
	bounded := r.options.UpTo != nil && stats.ReadPosition.After(*r.options.UpTo)
	if len(result.Entries) == 0 && r.options.Skip == nil && !bounded && r.c.HasMore() {
		t.Errorf("nothing handed over, but there is something at %s", stats.ReadPosition)
	}
}

// waits fails if the read has ended.
func (r *reading) waits() {
	r.b.t.Helper()
	if r.calls != 0 {
		r.b.t.Fatalf("read ended: %v, %v\n%s", numbers(r.result.Entries), r.err, r.b.steps.Schedule())
	}
}

// entries returns what the read has yielded.
func (r *reading) entries() []int {
	r.b.t.Helper()
	if r.calls != 1 || r.err != nil {
		r.b.t.Fatalf("read was called back %d times, error %v\n%s", r.calls, r.err, r.b.steps.Schedule())
	}
	return numbers(r.result.Entries)
}

// yields compares what the read has yielded with the entries first to last.
func (r *reading) yields(first, last int) {
	r.b.t.Helper()
	r.b.same(r.entries(), first, last)
}

// fails compares how the read has failed.
func (r *reading) fails(with error) {
	r.b.t.Helper()
	if r.calls != 1 || !errors.Is(r.err, with) {
		r.b.t.Fatalf("read was called back %d times, error %v, want %v\n%s", r.calls, r.err, with, r.b.steps.Schedule())
	}
}

// same compares with the numbers first to last; none if last is before first.
func (b *bed) same(got []int, first, last int) {
	b.t.Helper()
	b.these(got, upTo(first, last))
}

func (b *bed) these(got, want []int) {
	b.t.Helper()
	if !slices.Equal(got, want) {
		b.t.Fatalf("read %v, want %v\n%s", got, want, b.steps.Schedule())
	}
}

func upTo(first, last int) []int {
	var all []int
	for i := first; i <= last; i++ {
		all = append(all, i)
	}
	return all
}

func numbers(entries []managedledger.Entry) []int {
	var all []int
	for _, e := range entries {
		n, err := strconv.Atoi(string(e.Payload))
		if err != nil {
			n = -1
		}
		all = append(all, n)
	}
	return all
}
