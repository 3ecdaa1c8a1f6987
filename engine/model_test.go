package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
)

// topicModel is what a topic should be: entries by index, of which those from
// kept on are there, cursors, and producers with their last sequence.
type topicModel struct {
	entries    []string
	positions  []sdk.Position
	kept       int
	cursors    map[string]*cursorModel
	producers  map[string]uint64
	terminated bool
}

// cursorModel is what a cursor should be.
type cursorModel struct {
	durable bool
	acked   map[int]bool
	place   int
}

// unacked returns the indexes from one on that are kept and not acknowledged.
func (m *topicModel) unacked(c *cursorModel, from int) []int {
	var all []int
	for i := max(from, m.kept); i < len(m.entries); i++ {
		if !c.acked[i] {
			all = append(all, i)
		}
	}
	return all
}

func (c *cursorModel) ackUpTo(last int) {
	for i := range last + 1 {
		c.acked[i] = true
	}
}

func (c *cursorModel) seek(place int) {
	clear(c.acked)
	c.ackUpTo(place - 1)
	c.place = place
}

// run is one random history of one topic over engines that come and go.
type run struct {
	t     *testing.T
	store store
	name  string
	e     *process
	topic *engine.Topic
	topicModel
	written int
}

// overrides are settings that change where things happen, not what.
func (r *run) overrides(t *rapid.T) map[string]string {
	return map[string]string{
		"max-entries-per-ledger": rapid.SampledFrom([]string{"1", "3", "7", "50000"}).Draw(t, "max-entries"),
		"retention-size":         rapid.SampledFrom([]string{"0", "unlimited"}).Draw(t, "retention"),
		"read-policy":            rapid.SampledFrom([]string{"complete-at-lac", "extend-on-executor"}).Draw(t, "policy"),
		"submission":             rapid.SampledFrom([]string{"direct", "ordered-executor"}).Draw(t, "submission"),
		"placement":              rapid.SampledFrom([]string{"inline", "on-executor"}).Draw(t, "placement"),
		"skip-lost-ledgers":      "true", // one that is always set
	}
}

func (r *run) begin(t *rapid.T) {
	r.topicModel = topicModel{cursors: map[string]*cursorModel{}, producers: map[string]uint64{}}
	var err error
	if r.topic, err = r.e.CreateTopic(r.t.Context(), r.name, engine.TopicOptions{Overrides: r.overrides(t)}); err != nil {
		t.Fatal(err)
	}
}

// restart lets another engine go on.
func (r *run) restart(t *rapid.T) {
	r.e = start(r.t, r.store, func(c *engine.Config) {
		c.ProducerSnapshotEntries = rapid.IntRange(1, 20).Draw(t, "snapshot every")
		c.Cache.MaxBytes = rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "cache")
	})
	var err error
	if r.topic, err = r.e.Topic(r.t.Context(), r.name); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(r.cursors, func(_ string, c *cursorModel) bool { return !c.durable })
	for _, c := range r.cursors {
		c.place = len(r.entries)
		if left := r.unacked(c, 0); len(left) > 0 {
			c.place = left[0]
		}
	}
}

// stored notes entries that were appended.
func (r *run) stored(t *rapid.T, a engine.Appended, texts []string) {
	i := 0
	for _, span := range a.Spans() {
		for n := range span.Count {
			r.entries = append(r.entries, texts[i])
			r.positions = append(r.positions, sdk.Position{Ledger: span.First.Ledger, Entry: span.First.Entry + sdk.EntryID(n)})
			i++
		}
	}
	if i != len(texts) {
		t.Fatalf("%d of %d entries have a position", i, len(texts))
	}
}

// place draws a start and the index that it stands for.
func (r *run) place(t *rapid.T) (managedledger.Start, int) {
	if n := len(r.positions); n > 0 && rapid.Bool().Draw(t, "by position") {
		i := rapid.IntRange(0, n-1).Draw(t, "index")
		if rapid.Bool().Draw(t, "behind") {
			return managedledger.After(r.positions[i]), i + 1
		}
		return managedledger.At(r.positions[i]), i
	}
	if rapid.Bool().Draw(t, "latest") {
		return managedledger.Latest(), len(r.entries)
	}
	return managedledger.Earliest(), r.kept
}

// cursor draws one of the cursors there are.
func (r *run) cursor(t *rapid.T) (*managedledger.Cursor, *cursorModel) {
	if len(r.cursors) == 0 {
		t.Skip("no cursor")
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(r.cursors))).Draw(t, "cursor")
	c, err := r.topic.Cursor(name)
	if err != nil {
		t.Fatal(err)
	}
	return c, r.cursors[name]
}

// actions are what may happen.
func (r *run) actions() map[string]func(*rapid.T) {
	ctx := r.t.Context()
	must := func(t *rapid.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(*rapid.T){
		"append":  r.append,
		"produce": r.produce,
		"open cursor": func(t *rapid.T) {
			name, durable := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), rapid.Bool().Draw(t, "durable")
			if r.cursors[name] != nil {
				t.Skip("is open")
			}
			from, at := r.place(t)
			_, err := r.topic.OpenCursor(ctx, name, managedledger.CursorOptions{Durable: durable, From: from})
			must(t, err)
			c := &cursorModel{durable: durable, acked: map[int]bool{}}
			c.seek(at)
			r.cursors[name] = c
		},
		"delete cursor": func(t *rapid.T) {
			c, _ := r.cursor(t)
			must(t, r.topic.DeleteCursor(ctx, c.Name()))
			delete(r.cursors, c.Name())
		},
		"read": r.read,
		"acknowledge": func(t *rapid.T) {
			c, m := r.cursor(t)
			if len(r.entries) == 0 {
				t.Skip("no entry")
			}
			indexes := rapid.SliceOfN(rapid.IntRange(0, len(r.entries)-1), 1, 5).Draw(t, "indexes")
			var positions []sdk.Position
			for _, i := range indexes {
				positions = append(positions, r.positions[i])
				m.acked[i] = true
			}
			must(t, c.Acknowledge(ctx, positions...))
		},
		"acknowledge up to": func(t *rapid.T) {
			c, m := r.cursor(t)
			if len(r.entries) == 0 {
				t.Skip("no entry")
			}
			i := rapid.IntRange(0, len(r.entries)-1).Draw(t, "index")
			must(t, c.AcknowledgeUpTo(ctx, r.positions[i]))
			m.ackUpTo(i)
		},
		"seek": func(t *rapid.T) {
			c, m := r.cursor(t)
			from, at := r.place(t)
			must(t, c.Seek(ctx, from))
			m.seek(at)
		},
		"rewind": func(t *rapid.T) {
			c, m := r.cursor(t)
			c.Rewind()
			m.place = 0
		},
		"skip": func(t *rapid.T) {
			c, m := r.cursor(t)
			n := rapid.IntRange(0, 10).Draw(t, "n")
			must(t, c.Skip(ctx, int64(n)))
			if left := r.unacked(m, 0); n > 0 && n <= len(left) {
				m.ackUpTo(left[n-1])
			} else if n > 0 {
				m.ackUpTo(len(r.entries) - 1)
			}
		},
		"clear": func(t *rapid.T) {
			c, m := r.cursor(t)
			must(t, c.Clear(ctx))
			m.ackUpTo(len(r.entries) - 1)
		},
		"roll": func(t *rapid.T) { must(t, r.topic.Roll(ctx)) },
		"truncate": func(t *rapid.T) {
			must(t, r.topic.Truncate(ctx))
			r.kept = len(r.entries)
			for _, c := range r.cursors {
				c.ackUpTo(len(r.entries) - 1)
			}
		},
		"change settings": func(t *rapid.T) { must(t, r.topic.SetOverrides(ctx, r.overrides(t))) },
		"crash":           func(t *rapid.T) { r.e.kill(); r.e.stop(r.t); r.restart(t) },
		"stop":            func(t *rapid.T) { r.e.stop(r.t); r.restart(t) },
		"delete topic": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "rarely") > 0 {
				t.Skip("not this time")
			}
			must(t, r.e.DeleteTopic(ctx, r.name))
			r.begin(t)
		},
		"terminate": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "rarely") > 0 {
				t.Skip("not this time")
			}
			_, err := r.topic.Terminate(ctx)
			must(t, err)
			r.terminated = true
		},
		"": r.check,
	}
}

func (r *run) append(t *rapid.T) {
	var texts []string
	for range rapid.IntRange(1, 6).Draw(t, "entries") {
		texts = append(texts, fmt.Sprint("entry ", r.written))
		r.written++
	}
	a, err := r.topic.Append(r.t.Context(), messages(texts...)...)
	if r.terminated {
		isAll(r.t, "append to a terminated topic", err, engine.ErrTerminated)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	r.stored(t, a, texts)
}

// produce sends a run of sequences that may begin with some that are stored.
func (r *run) produce(t *rapid.T) {
	if r.terminated {
		t.Skip("terminated")
	}
	name := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "producer")
	p, err := r.topic.Producer(r.t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	last, known := r.producers[name]
	if got, ok := p.LastSequence(); ok != known || got != last {
		t.Fatalf("producer %s has the last sequence %d (%v), want %d (%v)", name, got, ok, last, known)
	}
	again := min(uint64(rapid.IntRange(0, 3).Draw(t, "again")), last)
	fresh := uint64(rapid.IntRange(0, 4).Draw(t, "fresh"))
	if again+fresh == 0 {
		t.Skip("nothing to send")
	}
	msgs := numbered(last+1-again, again+fresh)
	var texts []string
	for _, m := range msgs[again:] {
		texts = append(texts, string(m.Payload))
	}
	a, err := p.Append(r.t.Context(), msgs...)
	if err != nil || a.Duplicates != int(again) {
		t.Fatalf("%d duplicates, %v; want %d", a.Duplicates, err, again)
	}
	r.stored(t, a, texts)
	if fresh > 0 {
		r.producers[name] = last + fresh
	}
}

// read reads through a cursor: a run of what is not acknowledged, and not
// nothing if there is something.
func (r *run) read(t *rapid.T) {
	c, m := r.cursor(t)
	limit := managedledger.Max{Entries: rapid.IntRange(1, 10).Draw(t, "max"), Bytes: rapid.SampledFrom([]int{0, 1, 60}).Draw(t, "bytes")}
	result, err := c.Read(r.t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	want := r.unacked(m, m.place)
	n := len(result.Entries)
	if n > min(limit.Entries, len(want)) || n == 0 && len(want) > 0 {
		t.Fatalf("read %d entries of %d, asked for %d", n, len(want), limit.Entries)
	}
	for i, entry := range result.Entries {
		if entry.Position != r.positions[want[i]] {
			t.Fatalf("read %v, want %v (index %d)", entry.Position, r.positions[want[i]], want[i])
		}
	}
	if n > 0 {
		m.place = want[n-1] + 1
	}
}

// check compares everything that can be seen, after each action. The trim
// before it is one that would happen by itself, sooner or later.
func (r *run) check(t *rapid.T) {
	if _, err := r.topic.Trim(r.t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := r.topic.Describe(r.t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := r.kept
	for kept < len(r.positions) && r.positions[kept].Before(d.First) {
		kept++
	}
	for _, c := range r.cursors {
		if left := r.unacked(c, 0); c.durable && len(left) > 0 && left[0] < kept {
			t.Fatalf("entry %d was removed, a durable cursor has not acknowledged %d", kept-1, left[0])
		}
	}
	r.kept = kept
	if d.Entries != int64(len(r.entries)-kept) {
		t.Fatalf("%d entries are said to be kept, want %d", d.Entries, len(r.entries)-kept)
	}
	if got := texts(r.t, r.topic); !slices.Equal(got, r.entries[kept:]) {
		t.Fatalf("the topic holds %q, want %q", got, r.entries[kept:])
	}
	if len(d.Cursors) != len(r.cursors) {
		t.Fatalf("%d cursors, want %d", len(d.Cursors), len(r.cursors))
	}
	for _, c := range d.Cursors {
		if want := r.unacked(r.cursors[c.Name], 0); c.Backlog != int64(len(want)) {
			t.Fatalf("cursor %s has a backlog of %d, want %d: %v", c.Name, c.Backlog, len(want), want)
		}
	}
}

// Random histories of one topic, with crashes and restarts, against the plain
// model.
func TestModel(t *testing.T) {
	var runs atomic.Int64
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				r := &run{t: t, store: s, name: fmt.Sprint("t", runs.Add(1))}
				r.e = start(t, s)
				r.begin(rt)
				rt.Repeat(r.actions())
				r.e.stop(t)
			})
		})
	}
}
