package managedledger

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/scheduling/stepping"
	"github.com/tidemark-engine/tidemark/sdk"
)

// TestReadWhileTheSchedulerIsFull has the scheduler take no task when a read of
// a store that blocks is to be started: no lane task, or no work. The read ends
// as busy, once, and the next one works.
func TestReadWhileTheSchedulerIsFull(t *testing.T) {
	for name, c := range map[string]struct {
		strategy scheduling.Strategy
		full     func(x *refusing, full bool)
	}{
		"no work, direct":        {scheduling.Direct(), func(x *refusing, full bool) { x.refuse = full }},
		"no work at the turn":    {scheduling.OrderedExecutor(), func(x *refusing, full bool) { x.refuse = full }},
		"no lane task for start": {scheduling.OrderedExecutor(), func(x *refusing, full bool) { x.Refuse(map[bool]error{true: scheduling.ErrFull}[full]) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps := stepping.New()
				x := &refusing{Executor: steps}
				h := newHouseOn(t, x)
				h.config.Submission = c.strategy
				h.settings.Store.BlockingReads = true
				m := h.open("log")
				cursor, err := m.OpenCursor(h.ctx(), "reader", CursorOptions{From: Earliest()})
				if err != nil {
					t.Fatal(err)
				}
				added := h.addLater(m, "0")
				steps.RunAll()
				e := got(t, "add", added)
				h.settings.Cache.DropLedger(e.r.First().Ledger)
				read := func() (entries []Entry, calls int, err error) {
					refused := cursor.ReadAsync(Max{Entries: 1}, ReadOptions{}, func(r ReadResult, e error) {
						entries, err = r.Entries, e
						calls++
					})
					if refused != nil {
						t.Fatal(refused)
					}
					steps.RunAll()
					return entries, calls, err
				}
				c.full(x, true)
				if _, calls, err := read(); calls != 1 || !errors.Is(err, sdk.ErrBusy) {
					t.Errorf("ended %d times with %v, want busy", calls, err)
				}
				c.full(x, false)
				if entries, calls, err := read(); calls != 1 || err != nil || len(entries) != 1 {
					t.Errorf("the next read ended %d times with %d entries, %v", calls, len(entries), err)
				}
				closeStepping(t, h, m, steps)
			})
		})
	}
}
