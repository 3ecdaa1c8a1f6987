package managedledger

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Readers of all kinds read a log that grows, rolls and is trimmed, over a store
// whose reads fail now and then, while policy, strategy and placement are
// changed all the time: each of them gets every entry once, in order.
func TestChoicesChangeOnALiveLog(t *testing.T) {
	for _, blocking := range []bool{false, true} {
		t.Run(fmt.Sprintf("store blocks %t", blocking), func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			h := newHouse(t)
			h.config.MaxEntriesPerLedger = 200
			h.config.RetentionBytes, h.config.RetentionTime = 0, 0
			h.settings.Store.BlockingReads = blocking
			rng := rand.New(rand.NewPCG(seed, 1))
			h.ledgers.Choose(func(op scripted.Op) scripted.Step { // under a lock
				if op != scripted.Read {
					return scripted.Step{}
				}
				switch rng.IntN(10) {
				case 0:
					return scripted.Step{Before: errDown}
				case 1:
					return scripted.Step{Cut: true, Keep: rng.IntN(4)}
				case 2:
					return scripted.Step{Before: fmt.Errorf("%w: old handle", sdk.ErrEntryNotFound)}
				}
				return scripted.Step{}
			})
			m := h.open("log")
			s := &readStorm{house: h, m: m, entries: 2000, seed: seed}
			s.run()
			h.close(m)
		})
	}
}

type readStorm struct {
	*house
	m       *ManagedLedger
	entries int
	seed    uint64
}

func (s *readStorm) run() {
	// All cursors are there before the first entry, and the durable ones hold
	// what the others have not read.
	var readers sync.WaitGroup
	holder := s.cursor(s.m, "holder")
	for i := range 4 {
		durable := s.cursor(s.m, fmt.Sprint("durable ", i))
		readers.Go(func() { s.blocking(durable, i) })
		passing, err := s.m.OpenCursor(s.ctx(), fmt.Sprint("passing ", i), CursorOptions{})
		if err != nil {
			s.t.Error(err)
			return
		}
		readers.Go(func() { s.callbacks(passing, i) })
	}
	readers.Go(s.follower)
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { s.change(stop) })
	others.Go(s.append)
	readers.Wait()
	close(stop)
	others.Wait()
	if err := holder.Clear(s.ctx()); err != nil {
		s.t.Error(err)
	}
}

// append adds the numbers from 0.
func (s *readStorm) append() {
	rng := rand.New(rand.NewPCG(s.seed, 2))
	for n := 0; n < s.entries; {
		var payloads [][]byte
		for range min(1+rng.IntN(20), s.entries-n) {
			payloads = append(payloads, binary.BigEndian.AppendUint64(nil, uint64(n)))
			n++
		}
		if _, err := s.m.Add(s.ctx(), payloads...); err != nil {
			s.t.Errorf("add: %v", err)
			return
		}
	}
}

// change changes the choices until stop is closed.
func (s *readStorm) change(stop <-chan struct{}) {
	rng := rand.New(rand.NewPCG(s.seed, 3))
	policies, strategies := readpolicies.Builtin().All(), scheduling.Builtin().All()
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		config := s.config
		config.ReadPolicy = policies[rng.IntN(len(policies))]
		config.Submission = strategies[rng.IntN(len(strategies))]
		config.Placement = scheduling.Placements()[rng.IntN(2)]
		if err := s.m.Configure(config); err != nil {
			s.t.Error(err)
			return
		}
		if rng.IntN(20) == 0 {
			s.settings.Cache.DropLedger(s.m.LastConfirmed().Ledger)
		}
	}
}

// check takes the next entries of a reader, and says whether it has them all.
func (s *readStorm) check(who string, next *int, r ReadResult) (all bool) {
	if r.Gone {
		s.t.Errorf("%s: gone until %s before entry %d", who, r.GoneUntil, *next)
		return true
	}
	for _, e := range r.Entries {
		if n := int(binary.BigEndian.Uint64(e.Payload)); n != *next {
			s.t.Errorf("%s: got %d at %s, want %d", who, n, e.Position, *next)
			return true
		}
		*next++
	}
	return *next == s.entries
}

// blocking reads, acknowledges single entries in a random order, and goes back
// to what it has not acknowledged now and then.
func (s *readStorm) blocking(c *Cursor, i int) {
	rng := rand.New(rand.NewPCG(s.seed, uint64(10+i)))
	for next := 0; ; {
		r, err := c.ReadOrWait(s.ctx(), Max{Entries: 1 + rng.IntN(100)})
		if err != nil {
			continue // scripted
		}
		done := s.check(c.Name(), &next, r)
		rng.Shuffle(len(r.Entries), func(i, j int) { r.Entries[i], r.Entries[j] = r.Entries[j], r.Entries[i] })
		for _, e := range r.Entries {
			if err := c.Acknowledge(s.ctx(), e.Position); err != nil {
				s.t.Errorf("%s: acknowledge %s: %v", c.Name(), e.Position, err)
				return
			}
		}
		if done {
			if n := c.Backlog(); n != 0 {
				s.t.Errorf("%s: backlog %d", c.Name(), n)
			}
			return
		}
		if rng.IntN(5) == 0 {
			c.Rewind()
		}
	}
}

// callbacks reads by callbacks, each of which starts the next read.
func (s *readStorm) callbacks(c *Cursor, i int) {
	rng := rand.New(rand.NewPCG(s.seed, uint64(20+i)))
	next, ended := 0, make(chan struct{})
	var read func(ReadResult, error)
	read = func(r ReadResult, err error) {
		if err == nil && s.check(c.Name(), &next, r) {
			close(ended)
			return
		}
		if err := c.ReadAsync(Max{Entries: 1 + rng.IntN(50), Bytes: rng.IntN(400)}, ReadOptions{Wait: true}, read); err != nil {
			s.t.Errorf("%s: %v", c.Name(), err)
			close(ended)
		}
	}
	read(ReadResult{}, nil)
	select {
	case <-ended:
	case <-time.After(limit):
		s.t.Errorf("%s: stuck behind entry %d: %+v", c.Name(), next, c.Stats())
	}
}

// follower reads without a cursor, and gives up waiting now and then.
func (s *readStorm) follower() {
	from := s.m.Resolve(Earliest())
	for next := 0; ; {
		ctx, cancel := context.WithTimeout(s.ctx(), time.Millisecond)
		r, err := s.m.ReadOrWait(ctx, from, Max{Entries: 64})
		cancel()
		if err != nil {
			continue
		}
		if from = r.Next; s.check("follower", &next, r) {
			return
		}
	}
}
