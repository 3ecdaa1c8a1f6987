package managedledger

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/scheduling/stepping"
	"github.com/tidemark-engine/tidemark/sdk"
)

// A random history of adds, rolls, crashes and store failures against a plain
// model, on a hand-stepped executor: a seed gives the same history each time.
// SEEDS in the environment is how many, HISTLOG shows the log of each.
func TestRandomHistories(t *testing.T) {
	seeds := 400
	if n, err := strconv.Atoi(os.Getenv("SEEDS")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newHistory(t, uint64(seed)).run() })
		})
		if !ok {
			return
		}
	}
}

// history is one random history and what its model knows.
type history struct {
	t     *testing.T
	h     *house
	steps *stepping.Executor
	rand  *rand.Rand
	m     *ManagedLedger
	left  []*ManagedLedger // owners that crashed
	gates []*scripted.Gate
	lac   sdk.Position

	adds []*modelAdd
}

// modelAdd is an add as its producer sees it.
type modelAdd struct {
	payloads []string
	ended    int
	r        AddResult
	err      error
	crashed  bool // its owner crashed before it ended
}

func newHistory(t *testing.T, seed uint64) *history {
	steps := stepping.New()
	steps.Seed(seed)
	r := rand.New(rand.NewPCG(seed, 0))
	steps.RunInCaller(r.IntN(2) == 0)
	h := newHouseOn(t, steps)
	h.config.MaxEntriesPerLedger = int64(3 + r.IntN(20))
	h.config.MaxPendingEntries = 5 + r.IntN(100)
	if os.Getenv("HISTLOG") != "" {
		h.settings.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return &history{t: t, h: h, steps: steps, rand: r, lac: notTrimmed}
}

func (y *history) run() {
	y.m = y.h.open("log")
	y.script(true)
	for range 150 {
		y.step()
		y.look()
	}
	y.heal()
	y.check()
}

// one says whether something happens that has that many chances in 100.
func (y *history) one(in100 int) bool { return y.rand.IntN(100) < in100 }

// step does one random thing.
func (y *history) step() {
	switch n := y.rand.IntN(100); {
	case n < 45:
		y.add(1 + y.rand.IntN(4))
	case n < 80:
		for range 1 + y.rand.IntN(6) {
			y.steps.Step()
		}
	case n < 86 && len(y.gates) > 0:
		i := y.rand.IntN(len(y.gates))
		y.gates[i].Open()
		y.gates = slices.Delete(y.gates, i, i+1)
	case n < 90:
		time.Sleep(time.Duration(y.rand.IntN(40)) * time.Millisecond) // retries
	case n < 93:
		y.roll(y.m)
	case n < 95:
		y.m.Maintain(time.Now().Add(time.Duration(y.rand.IntN(3)) * y.h.config.StoreTimeout))
	case n < 97:
		y.crash()
	case n < 98:
		y.closeAndOpen()
	}
}

func (y *history) add(n int) {
	a := &modelAdd{}
	var payloads [][]byte
	for i := range n {
		p := fmt.Sprintf("%d.%d", len(y.adds), i)
		a.payloads = append(a.payloads, p)
		payloads = append(payloads, []byte(p))
	}
	err := y.m.AddAsync(payloads, func(r AddResult, err error) {
		a.ended++
		a.r, a.err = r, err
	})
	if err != nil {
		if !errors.Is(err, sdk.ErrBusy) {
			y.t.Fatalf("add refused: %v", err)
		}
		return
	}
	y.adds = append(y.adds, a)
}

// roll asks for a roll that nobody waits for.
func (y *history) roll(m *ManagedLedger) {
	a := newAsked()
	m.post(scheduling.KindMetadata, scheduling.TaskFunc(func() { m.enqueue(&rollJob{m: m, asked: &a}) }))
}

// crash drops the owner and has another one open the log. The former one's
// tasks go on: it does not know yet.
func (y *history) crash() {
	y.left = append(y.left, y.m)
	for _, a := range y.adds {
		a.crashed = a.crashed || a.ended == 0
	}
	y.reopen()
}

// closeAndOpen closes the log, whatever is on its way, and opens it again.
func (y *history) closeAndOpen() {
	_ = y.close(y.m) // the store may fail it
	for i, a := range y.adds {
		if a.ended == 0 && !a.crashed {
			y.t.Fatalf("add %d was not answered by closing", i)
		}
	}
	y.reopen()
}

// reopen opens the log, if the store lets it at last.
func (y *history) reopen() {
	for try := 0; ; try++ {
		m, err := Open(y.h.ctx(), "log", y.h.settings, y.h.config, OpenOptions{})
		if err == nil {
			y.m = m
			return
		}
		if try > 50 {
			y.t.Fatalf("open: %v", err)
		}
	}
}

// close closes a log while stepping.
func (y *history) close(m *ManagedLedger) error {
	done := later(func() error { return m.Close(y.h.ctx()) })
	for {
		synctest.Wait()
		if len(done) > 0 {
			return <-done
		}
		y.steps.RunAll()
		time.Sleep(time.Second)
	}
}

// script makes the store fail at random, or not at all.
func (y *history) script(on bool) {
	if !on {
		y.h.ledgers.Choose(nil)
		y.h.metadata.Choose(nil)
		return
	}
	unknown := fmt.Errorf("%w: script says so", sdk.ErrUnknownOutcome)
	y.h.ledgers.Choose(func(op scripted.Op) scripted.Step {
		switch {
		case !y.one(12):
		case op == scripted.Append:
			gate := scripted.NewGate()
			if y.one(50) {
				y.gates = append(y.gates, gate)
			} else {
				gate.Open()
			}
			keep := y.rand.IntN(4)
			return []scripted.Step{
				{HoldReply: gate},
				{HoldReply: gate},
				{Before: errDown, HoldReply: gate},
				{After: unknown, HoldReply: gate},
				{After: unknown, Cut: true, Keep: keep, HoldReply: gate},
				{After: errDown, Cut: true, Keep: keep, Tell: true},
				{Lose: true},
				{Repeat: true},
				{Panic: true},
			}[y.rand.IntN(9)]
		case y.one(30):
			return scripted.Step{After: errors.New("connection lost")}
		default:
			return scripted.Step{Before: errDown}
		}
		return scripted.Step{}
	})
	y.h.metadata.Choose(func(scripted.Op) scripted.Step {
		switch {
		case y.one(5):
			return scripted.Step{After: errors.New("connection lost")}
		case y.one(10):
			return scripted.Step{Before: errDown}
		}
		return scripted.Step{}
	})
}

// look checks what must hold at any time.
func (y *history) look() {
	v := y.m.current()
	if v.lac.Before(y.lac) {
		y.t.Fatalf("LAC went back from %s to %s", y.lac, v.lac)
	}
	y.lac = v.lac
	for i, a := range y.adds {
		if a.ended > 1 {
			y.t.Fatalf("add %d ended %d times", i, a.ended)
		}
		if a.ended == 1 && a.err == nil && !a.crashed && a.r.Last().After(v.lac) {
			y.t.Fatalf("add %d acknowledged at %s, LAC %s", i, a.r.Last(), v.lac)
		}
	}
}

// heal ends all faults and lets everything come to rest.
func (y *history) heal() {
	y.script(false)
	for _, g := range y.gates {
		g.Open()
	}
	for range 20 {
		y.steps.RunAll()
		time.Sleep(2 * time.Second)
		y.m.Maintain(time.Now().Add(2 * y.h.config.StoreTimeout))
	}
	y.add(1)
	y.steps.RunAll()
	y.look()
	if last := y.adds[len(y.adds)-1]; last.ended != 1 || last.err != nil {
		y.t.Fatalf("add to a healthy store: %+v\n%s", last, y.steps.Schedule())
	}
}

// check compares the log with the model.
func (y *history) check() {
	log := y.read()
	places := map[string][]int{}
	for i, e := range log {
		places[e.payload] = append(places[e.payload], i)
	}
	highest := -1
	for i, a := range y.adds {
		if a.ended != 1 && !a.crashed {
			y.t.Fatalf("add %d never ended", i)
		}
		var stored []sdk.Position
		for _, p := range a.payloads {
			at := places[p]
			if len(at) > 1 {
				y.t.Fatalf("%s is stored %d times", p, len(at))
			}
			if len(at) == 1 {
				if at[0] <= highest {
					y.t.Fatalf("%s of add %d stands before entries of earlier adds: %v", p, i, log[max(at[0]-3, 0):highest+1])
				}
				highest = at[0]
				stored = append(stored, log[at[0]].at)
			}
		}
		y.compare(i, a, stored)
	}
	for _, m := range append(y.left, y.m) {
		if err := y.close(m); err != nil && !errors.Is(err, ErrFenced) {
			y.t.Errorf("close: %v", err)
		}
	}
}

// compare checks an add's answer against where its entries are.
func (y *history) compare(i int, a *modelAdd, stored []sdk.Position) {
	var said []sdk.Position
	for _, s := range a.r.Spans() {
		for n := range s.Count {
			p := s.First
			p.Entry += sdk.EntryID(n)
			said = append(said, p)
		}
	}
	switch {
	case a.ended == 0 || errors.Is(a.err, sdk.ErrUnknownOutcome):
		// Anything from nothing to all, but what was said is true.
		if len(said) > len(stored) || !slices.Equal(said, stored[:len(said)]) {
			y.t.Fatalf("add %d: said %v, stored at %v", i, said, stored)
		}
	case a.err == nil && len(stored) != len(a.payloads):
		y.t.Fatalf("add %d was acknowledged at %v, stored at %v; ledgers %+v", i, said, stored, y.m.current().ledgers)
	case !slices.Equal(said, stored):
		y.t.Fatalf("add %d (%v): said %v, stored at %v", i, a.err, said, stored)
	}
}

type placed struct {
	at      sdk.Position
	payload string
}

// read returns the whole log.
func (y *history) read() (log []placed) {
	v := y.m.current()
	for i := range v.ledgers {
		n := v.entries(i)
		if n == 0 {
			continue
		}
		r, err := y.h.ledgers.Inner.Open(y.h.ctx(), v.ledgers[i].id, sdk.OpenRead)
		if err != nil {
			y.t.Fatal(err)
		}
		r.Read(y.h.ctx(), sdk.Range{Last: sdk.EntryID(n - 1)}, func(payloads [][]byte, err error) {
			if err != nil {
				y.t.Fatalf("read ledger %d of %d entries: %v", v.ledgers[i].id, n, err)
			}
			for e, p := range payloads {
				log = append(log, placed{sdk.Position{Ledger: v.ledgers[i].id, Entry: sdk.EntryID(e)}, string(p)})
			}
		})
		_ = r.Close()
	}
	return log
}
