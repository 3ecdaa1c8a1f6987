package entrycache

import (
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
	"pgregory.net/rapid"
)

type key struct {
	ledger sdk.LedgerID
	entry  sdk.EntryID
}

// model is the plain map that a cache must agree with: which entries it may
// hold. When nothing was evicted it must hold all of them.
type model map[key]bool

func (m model) add(id sdk.LedgerID, first, last sdk.EntryID) {
	for e := first; e <= last; e++ {
		m[key{id, e}] = true
	}
}

func drawRange(t *rapid.T) (id sdk.LedgerID, first, last sdk.EntryID) {
	id = sdk.LedgerID(rapid.IntRange(0, 2).Draw(t, "ledger") * shards / 2) // two of them in one shard
	first = sdk.EntryID(rapid.IntRange(0, 300).Draw(t, "first"))
	return id, first, first + sdk.EntryID(rapid.SampledFrom([]int{0, 0, 0, 1, 5, 30, 100}).Draw(t, "more"))
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { againstModel(t, false) })
}

func TestAgainstModelWithEviction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { againstModel(t, true) })
}

func againstModel(t *rapid.T, small bool) {
	config := DefaultConfig()
	if config.TTL = 0; small {
		config.MaxBytes = 8000
	}
	c, err := New(config, goroutines{})
	if err != nil {
		t.Fatal(err)
	}
	m := model{}
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			id, first, last := drawRange(t)
			c.Add(id, first, payloads(id, first, last))
			m.add(id, first, last)
		},
		"read": func(t *rapid.T) {
			id, first, last := drawRange(t)
			s := newStorage(id)
			o := read(background, c, s, first, last, 0)
			select {
			case r := <-s.reads:
				m.add(id, r.what.First, r.what.Last)
				r.all()
			default:
			}
			if o.calls != 1 || o.err != nil || len(o.payloads) == 0 || wrong(o.payloads, id, first) != "" {
				t.Fatalf("read ended with %+v, %s", o, wrong(o.payloads, id, first))
			}
		},
		"drop": func(t *rapid.T) {
			id, first, _ := drawRange(t)
			if first > 0 {
				t.Skip()
			}
			c.DropLedger(id)
			for k := range m {
				if k.ledger == id {
					delete(m, k)
				}
			}
		},
		"": func(t *rapid.T) { compare(t, c, m, small) },
	})
}

// compare checks what the cache gives for a random range against the model, and
// its figures against what it holds.
func compare(t *rapid.T, c *Cache, m model, small bool) {
	id, first, last := drawRange(t)
	maxBytes := rapid.SampledFrom([]int{0, 1, 20, 100}).Draw(t, "maxBytes")
	want, bytes := 0, 0
	for e := first; e <= last && m[key{id, e}]; e++ {
		bytes += len(payload(id, e))
		if maxBytes > 0 && bytes > maxBytes && want > 0 {
			break
		}
		want++
	}
	got := c.Get(id, first, last, maxBytes)
	if len(got) > want || len(got) < want && !small || wrong(got, id, first) != "" {
		t.Fatalf("got %d entries of %d:%d to %d with %d bytes, want %d; %s", len(got), id, first, last, maxBytes, want, wrong(got, id, first))
	}
	checkFigures(t, c)
}

// checkFigures counts again what the cache counts as it goes.
func checkFigures(t interface{ Fatalf(string, ...any) }, c *Cache) {
	var bytes, entries int64
	for i := range c.shards {
		s := &c.shards[i]
		queued := 0
		for r := s.queue.head; r != nil; r = r.newer {
			queued++
			if r.newer != nil && (r.newer.older != r || r.newer.born < r.born) {
				t.Fatalf("shard %d: the queue is torn or out of order", i)
			}
		}
		for id, l := range s.ledgers {
			for j, r := range l.runs {
				queued--
				if len(r.payloads) == 0 || r.ledger != l || j > 0 && l.runs[j-1].end() > r.first {
					t.Fatalf("ledger %d: run %d is empty, astray or overlaps", id, j)
				}
				entries += int64(len(r.payloads))
				for _, p := range r.payloads {
					bytes += int64(len(p)) + EntryOverhead
				}
			}
			if len(l.runs) == 0 {
				t.Fatalf("ledger %d is kept empty", id)
			}
		}
		if queued != 0 {
			t.Fatalf("shard %d: queue and ledgers differ by %d runs", i, queued)
		}
	}
	s := c.Stats()
	if s.Bytes != bytes || s.Entries != entries || s.Bytes > c.config.Load().MaxBytes {
		t.Fatalf("holds %d entries of %d bytes, says %+v", entries, bytes, s)
	}
}
