package managedledger

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/scheduling/stepping"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Random histories of one durable cursor against a plain model: adds, rolls,
// trims, reads that are held or fail, acknowledgements whose writes fail or only
// seem to, seeks, rewinds, closes and crashes, under all choices.
func TestRandomCursorHistories(t *testing.T) {
	seeds := 80
	if n, err := strconv.Atoi(os.Getenv("SEEDS")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newCursorHistory(t, uint64(seed)).run() })
		}) {
			return
		}
	}
}

type cursorHistory struct {
	*house
	rand  *rand.Rand
	steps *stepping.Executor
	m     *ManagedLedger
	c     *Cursor
	left  []*ManagedLedger
	held  *scripted.Gate

	where []sdk.Position // of each entry
	acked []bool         // as this owner has it
	sure  []bool         // told to be durable
	place int            // index of the next entry to be read

	reading    bool
	begun      []bool // what was acknowledged when the read began, or began again
	delivered  []int
	unanswered int

	// mu guards events: what callbacks, on whatever goroutine, have to tell.
	mu     sync.Mutex
	events []func()
}

// tell has the test's goroutine take something in.
func (y *cursorHistory) tell(event func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.events = append(y.events, event)
}

// listen takes in what callbacks have told.
func (y *cursorHistory) listen() {
	synctest.Wait()
	y.mu.Lock()
	events := y.events
	y.events = nil
	y.mu.Unlock()
	for _, event := range events {
		event()
	}
}

func newCursorHistory(t *testing.T, seed uint64) *cursorHistory {
	steps := stepping.New()
	steps.Seed(seed)
	r := rand.New(rand.NewPCG(seed, 7))
	steps.RunInCaller(r.IntN(2) == 0)
	y := &cursorHistory{house: newHouseOn(t, steps), rand: r, steps: steps}
	y.config.MaxEntriesPerLedger = int64(2 + r.IntN(12))
	if r.IntN(2) == 0 {
		y.config.RetentionBytes, y.config.RetentionTime = 0, 0
	}
	y.settings.Store.BlockingReads = r.IntN(2) == 0
	if r.IntN(3) == 0 {
		y.settings.Cache = uncached(t, steps)
	}
	if os.Getenv("HISTLOG") != "" {
		y.settings.Log = slog.New(slog.NewTextHandler(os.Stdout, nil))
	}
	y.choose()
	return y
}

// choose makes the three choices of a read anew.
func (y *cursorHistory) choose() {
	policies, strategies := append(readpolicies.Builtin().All(), wrongPolicies()...), scheduling.Builtin().All()
	y.config.ReadPolicy = policies[y.rand.IntN(len(policies))]
	y.config.Submission = strategies[y.rand.IntN(len(strategies))]
	y.config.Placement = scheduling.Placements()[y.rand.IntN(2)]
}

func (y *cursorHistory) run() {
	y.openLog()
	for range 200 {
		y.step()
		if y.t.Failed() {
			y.t.Fatalf("place %d, acknowledged %v\n%s", y.place, y.acked, y.steps.Schedule())
		}
	}
	y.calm()
	y.drain()
	for _, m := range append(y.left, y.m) { // some of the trouble may be left for it
		y.drive(func() error { _ = m.Close(y.ctx()); return nil })
	}
}

// log shows what happens if HISTLOG is in the environment.
func (y *cursorHistory) log(format string, values ...any) {
	if os.Getenv("HISTLOG") != "" {
		y.t.Logf(format, values...)
	}
}

func (y *cursorHistory) step() {
	y.listen()
	switch y.rand.IntN(16) {
	case 0, 1:
		y.append()
	case 2:
		y.drive(func() error { return y.m.Roll(y.ctx()) })
	case 3, 4, 5:
		y.read()
	case 6, 7, 8:
		y.acknowledge()
	case 9:
		y.trouble()
	case 10:
		y.seek()
	case 11:
		y.restartReads(y.firstUnacked())
		y.c.Rewind()
	case 12:
		y.choose()
		if err := y.m.Configure(y.config); err != nil {
			y.t.Fatal(err)
		}
	case 13:
		if y.rand.IntN(4) == 0 {
			y.crash()
		}
	default:
		for range y.rand.IntN(8) {
			y.steps.Step()
		}
		if y.held != nil && y.rand.IntN(2) == 0 {
			y.held.Open()
			y.held = nil
		}
	}
	y.listen()
	y.compare()
}

// drive runs f on a goroutine of its own and steps until it has ended.
func (y *cursorHistory) drive(f func() error) {
	y.t.Helper()
	done := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		done <- f()
		close(ended)
	}()
	if err := y.steps.RunUntil(y.ctx(), ended); err != nil {
		y.t.Fatal(err)
	}
	if err := <-done; err != nil {
		y.t.Fatal(err)
	}
}

func (y *cursorHistory) append() {
	first := len(y.where)
	var payloads [][]byte
	for range 1 + y.rand.IntN(6) {
		payloads = append(payloads, strconv.AppendInt(nil, int64(first+len(payloads)), 10))
	}
	var r AddResult
	y.drive(func() (err error) {
		r, err = y.m.Add(context.Background(), payloads...)
		return err
	})
	for _, s := range r.Spans() {
		for i := range s.Count {
			y.know(first, sdk.Position{Ledger: s.First.Ledger, Entry: s.First.Entry + sdk.EntryID(i)})
			first++
		}
	}
}

// know takes note where an entry is: told by its add, or before that by a read.
func (y *cursorHistory) know(i int, p sdk.Position) {
	for len(y.where) <= i {
		y.where, y.acked, y.sure = append(y.where, sdk.Position{}), append(y.acked, false), append(y.sure, false)
	}
	if y.where[i] != p && y.where[i] != (sdk.Position{}) {
		y.t.Errorf("entry %d is at %s and at %s", i, y.where[i], p)
	}
	y.where[i] = p
}

// trouble has the next calls of the stores go wrong.
func (y *cursorHistory) trouble() {
	switch y.rand.IntN(5) {
	case 0:
		y.metadata.Next(scripted.Put, scripted.Step{Before: errDown})
	case 1:
		y.metadata.Next(scripted.Put, scripted.Step{After: errDown})
	case 2:
		y.ledgers.Next(scripted.Read, scripted.Step{Before: errDown})
	case 3:
		y.ledgers.Next(scripted.Read, scripted.Step{Cut: true, Keep: y.rand.IntN(3)})
	case 4:
		if y.held == nil {
			y.held = scripted.NewGate()
			y.ledgers.Next(scripted.Read, scripted.Step{HoldReply: y.held})
		}
	}
}

// seek moves the cursor, and waits for that to be durable.
func (y *cursorHistory) seek() {
	if len(y.where) == 0 {
		return
	}
	y.calm()
	to := y.rand.IntN(len(y.where))
	for to < len(y.where) && !y.kept(to) {
		to++
	}
	if to == len(y.where) {
		return
	}
	y.log("seek %d", to)
	y.drive(func() error {
		for { // until the trouble that is queued is over
			if err := y.c.Seek(y.ctx(), At(y.where[to])); err == nil {
				return nil
			}
		}
	})
	mark := y.c.MarkDelete()
	for range 8 { // a trim whose write failed is tried again
		y.steps.RunAll()
		time.Sleep(retryMost)
	}
	for ; to < len(y.where) && !y.where[to].After(mark); to++ {
		if y.kept(to) { // it may have been on its way out
			y.t.Errorf("a seek to entry %d led behind it, to %s", to, mark)
		}
	}
	y.restartReads(to)
	for i := range y.acked {
		y.acked[i], y.sure[i] = i < to, i < to
	}
	y.begun = slices.Clone(y.acked)
	y.delivered = nil
	y.listen()
}

// restartReads is for a move of the cursor, which a read in flight follows.
func (y *cursorHistory) restartReads(place int) {
	y.place, y.begun = place, slices.Clone(y.acked)
}

// calm ends all trouble and lets everything come to rest.
func (y *cursorHistory) calm() {
	if y.held != nil {
		y.held.Open()
		y.held = nil
	}
	y.steps.RunAll()
	y.listen()
	for tries := 0; y.unanswered > 0 || y.c.Stats().Unsaved; tries++ {
		if tries > 100 {
			y.t.Fatalf("no rest: %+v", y.c.Stats())
		}
		time.Sleep(retryMost) // failed writes are tried again
		y.steps.RunAll()
		y.listen()
	}
}

// crash drops the owner and opens the log again. What was told to be durable
// is, what was not acknowledged comes again; the rest may be either.
func (y *cursorHistory) crash() {
	y.log("crash")
	y.left = append(y.left, y.m)
	y.reading, y.delivered, y.unanswered = false, nil, 0
	if y.held != nil {
		y.held.Open() // for an owner that is not there any more
		y.held = nil
	}
	y.openLog()
	for i, p := range y.where {
		if !y.kept(i) {
			y.acked[i] = true
			continue
		}
		y.c.mu.Lock()
		acked := y.c.acks.Contains(p)
		y.c.mu.Unlock()
		if y.sure[i] && !acked || !y.acked[i] && acked {
			y.t.Errorf("after a crash entry %d is acknowledged %t; it was %t, durable %t", i, acked, y.acked[i], y.sure[i])
		}
		y.acked[i], y.sure[i] = acked, acked
	}
	y.place = y.firstUnacked()
}

func (y *cursorHistory) openLog() {
	for { // the trouble that is queued hits the opening too
		m, err := Open(y.ctx(), "log", y.settings, y.config, OpenOptions{Create: true})
		if err != nil {
			continue
		}
		y.m = m
		if y.c, err = m.OpenCursor(y.ctx(), "c", CursorOptions{Durable: true}); err == nil {
			return
		}
		y.left = append(y.left, m)
	}
}
