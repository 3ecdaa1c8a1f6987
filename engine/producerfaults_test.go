package engine_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// faults makes calls fail now and then, by a seed: before anything was done, or
// although it was done; and many calls in a row, so that trying again does not
// help.
func faults(seed uint64) func(scripted.Op) scripted.Step {
	outage := uint64(0)                         // how many more calls fail
	return func(op scripted.Op) scripted.Step { // called under the script's lock
		seed = seed*6364136223846793005 + 1442695040888963407
		dice := seed >> 58
		if dice == 63 {
			outage = seed >> 50 % 32
		}
		switch {
		case outage > 0:
			outage--
			return scripted.Step{Before: sdk.ErrUnavailable}
		case op == scripted.Append && dice < 10:
			return []scripted.Step{
				{Before: sdk.ErrUnavailable}, {After: sdk.ErrUnknownOutcome}, {Before: sdk.ErrUnknownOutcome},
				{After: sdk.ErrUnknownOutcome, Cut: true, Keep: 1},
			}[dice%4]
		case op == scripted.Put && dice < 3, op == scripted.Open && dice < 6, op == scripted.Seal && dice < 6:
			return []scripted.Step{{Before: sdk.ErrUnavailable}, {After: sdk.ErrUnavailable}}[dice%2]
		case op == scripted.Create && dice < 6:
			return scripted.Step{Before: []error{sdk.ErrUnavailable, sdk.ErrFull}[dice%2]}
		}
		return scripted.Step{}
	}
}

// Several producers at once, over stores that fail now and then and engines
// that die: every sequence is stored once, those of a producer in order.
func TestProducersUnderFailures(t *testing.T) {
	for range 60 {
		seed := rand.Uint64()
		synctest.Test(t, func(t *testing.T) { // so that nobody waits for what is tried again later
			random := rand.New(rand.NewPCG(seed, 0))
			inner := memory.Open()
			progress := map[string]uint64{"p0": 0, "p1": 0, "p2": 0}
			const each = 60
			for slices.Min(slices.Collect(maps.Values(progress))) < each {
				produceOneLife(t, random, inner, progress, each)
			}
			checkProduced(t, inner, len(progress), each)
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// produceOneLife has all producers go on for a while in an engine of their own.
func produceOneLife(t *testing.T, random *rand.Rand, inner *memory.Store, progress map[string]uint64, each uint64) {
	ctx := context.Background()
	l := &life{store: inner}
	ledgers, metadata := &scripted.Ledgers{Inner: l}, &scripted.Metadata{Inner: l.Metadata()}
	config := engine.DefaultConfig()
	config.ProducerSnapshotEntries = 10
	config.Topic.MaxEntriesPerLedger = 8
	e, err := engine.Open(ctx, engine.Settings{Ledgers: ledgers, Metadata: metadata, Plugin: inner}, config)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(ctx) // which may fail, as everything here
	topic, err := e.CreateTopic(ctx, "orders", engine.TopicOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ledgers.Choose(faults(random.Uint64()))
	metadata.Choose(faults(random.Uint64()))
	var running sync.WaitGroup
	var mu sync.Mutex // guards progress
	for _, name := range slices.Sorted(maps.Keys(progress)) {
		steps := 1 + random.IntN(12)
		running.Go(func() {
			last, known := produce(topic, name, steps, each)
			mu.Lock()
			defer mu.Unlock()
			if known {
				progress[name] = last
			}
		})
	}
	running.Wait()
	l.over.Store(random.IntN(2) == 0)
}

// produce sends numbers up to limit, again and again, steps times, and returns
// how far it got; false if it never knew. Several appends are on their way at a
// time; after a failure it goes on behind what was confirmed without a gap, or
// gives up and goes on in a new session.
func produce(topic *engine.Topic, name string, steps int, limit uint64) (last uint64, known bool) {
	ctx := context.Background()
	p, err := topic.Producer(ctx, name)
	if err != nil {
		return 0, false
	}
	last, _ = p.LastSequence()
	for step := 0; step < steps && last < limit; step++ {
		confirmed := sendThree(p, last, limit)
		if confirmed == last && step%4 == 0 {
			if p, err = topic.Producer(ctx, name); err != nil {
				break
			}
			confirmed, _ = p.LastSequence()
		}
		last = max(last, confirmed)
	}
	return last, true
}

// sendThree has three appends on their way at once, and returns up to where all
// is confirmed.
func sendThree(p *engine.Producer, last, limit uint64) uint64 {
	results := make([]error, 3)
	ends := make([]uint64, 3)
	var pending sync.WaitGroup
	next := last + 1
	for i := range ends {
		n := min(uint64(1+i), limit+1-next)
		if ends[i] = next + n - 1; n == 0 {
			continue
		}
		pending.Add(1)
		err := p.AppendAsync(numbered(next, n), func(_ engine.Appended, err error) {
			results[i] = err
			pending.Done()
		})
		if err != nil {
			results[i] = err
			pending.Done()
		}
		next += n
	}
	pending.Wait()
	for i, err := range results {
		if err != nil {
			break
		}
		last = ends[i]
	}
	return last
}

// checkProduced reads all that the producers stored.
func checkProduced(t *testing.T, inner *memory.Store, names int, each uint64) {
	e := start(t, inner)
	defer e.stop(t)
	topic := open(t, e, "orders")
	next := map[string]uint64{}
	for from := topic.Resolve(managedledger.Earliest()); ; {
		result, err := topic.Read(t.Context(), from, managedledger.Max{Entries: 1000, Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Entries) == 0 {
			break
		}
		for _, entry := range result.Entries {
			m, err := message.Decode(entry.Payload)
			if err != nil {
				t.Fatal(err)
			}
			if next[m.Producer]++; m.Sequence != next[m.Producer] {
				t.Fatalf("%s: sequence %d stands where %d should", m.Producer, m.Sequence, next[m.Producer])
			}
		}
		from = result.Next
	}
	if len(next) != names {
		t.Fatalf("producers %v", next)
	}
	for name, n := range next {
		if n != each {
			t.Fatalf("%s has %d", name, n)
		}
	}
}
