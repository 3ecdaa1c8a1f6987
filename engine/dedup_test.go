package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// numbered makes messages with the sequences from first on, whose texts are
// their sequences.
func numbered(first, n uint64) []message.Message {
	msgs := make([]message.Message, n)
	for i := range msgs {
		msgs[i] = message.Message{Payload: fmt.Append(nil, first+uint64(i)), Sequence: first + uint64(i)}
	}
	return msgs
}

func producer(t testing.TB, topic *engine.Topic, name string) *engine.Producer {
	t.Helper()
	p, err := topic.Producer(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustAppend(t testing.TB, p *engine.Producer, duplicates int, msgs ...message.Message) {
	t.Helper()
	a, err := p.Append(t.Context(), msgs...)
	if err != nil || a.Duplicates != duplicates {
		t.Fatalf("append of %d: %d duplicates, %v; want %d", msgs[0].Sequence, a.Duplicates, err, duplicates)
	}
}

func lastSequence(t testing.TB, p *engine.Producer, want uint64) {
	t.Helper()
	if last, known := p.LastSequence(); !known || last != want {
		t.Errorf("producer %s has the last sequence %d (%v), want %d", p.Name(), last, known, want)
	}
}

// countTo returns the texts of numbered(1, n).
func countTo(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(i+1))
	}
	return all
}

func expectTexts(t testing.TB, topic *engine.Topic, want []string) {
	t.Helper()
	if got := texts(t, topic); !slices.Equal(got, want) {
		t.Errorf("the topic holds %v, want %v", got, want)
	}
}

// What a producer stored is known after a crash, whether it is part of a
// snapshot or only among the entries, and over several crashes.
func TestProducersSurviveCrashes(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			few := func(c *engine.Config) { c.ProducerSnapshotEntries = 7 }
			e := start(t, s, few)
			p := producer(t, create(t, e, "orders", map[string]string{"max-entries-per-ledger": "5"}), "p")
			if _, known := p.LastSequence(); known {
				t.Error("a new producer has a last sequence")
			}
			n := uint64(0)
			for range 6 {
				for range 4 {
					mustAppend(t, p, 0, numbered(n+1, 2)...)
					n += 2
				}
				e.kill()
				e = start(t, s, few)
				p = producer(t, open(t, e, "orders"), "p")
				lastSequence(t, p, n)
				mustAppend(t, p, 3, numbered(n-2, 4)...)
				n++
			}
			expectTexts(t, open(t, e, "orders"), countTo(int(n)))
		})
	}
}

// A crash between the store and the acknowledgement: the caller hears of an
// unknown outcome, repeats it in the next life, and it is stored once.
func TestProducerCrashBeforeAnswer(t *testing.T) {
	for _, stored := range []bool{true, false} {
		t.Run(fmt.Sprint("stored: ", stored), func(t *testing.T) {
			inner := memory.Open()
			l := &life{store: inner}
			ledgers := &scripted.Ledgers{Inner: l}
			e, err := engine.Open(t.Context(), engine.Settings{Ledgers: ledgers, Metadata: l.Metadata(), Plugin: inner}, engine.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			topic, err := e.CreateTopic(t.Context(), "orders", engine.TopicOptions{})
			if err != nil {
				t.Fatal(err)
			}
			p := producer(t, topic, "p")
			mustAppend(t, p, 0, numbered(1, 3)...)
			gate := scripted.NewGate()
			if stored {
				ledgers.Next(scripted.Append, scripted.Step{HoldReply: gate})
			} else {
				ledgers.Next(scripted.Append, scripted.Step{Hold: gate})
			}
			answer := make(chan error, 1)
			if err := p.AppendAsync(numbered(4, 2), func(_ engine.Appended, err error) { answer <- err }); err != nil {
				t.Fatal(err)
			}
			<-gate.Reached()
			l.over.Store(true)

			again := start(t, inner)
			p2 := producer(t, open(t, again, "orders"), "p")
			gate.Open()
			mustAppend(t, p2, map[bool]int{true: 2, false: 0}[stored], numbered(4, 2)...)
			mustAppend(t, p2, 0, numbered(6, 1)...)
			expectTexts(t, open(t, again, "orders"), countTo(6))
			<-answer
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = e.Close(ctx) // it is dead, only its goroutines are to end
		})
	}
}

// The store says that it does not know, and cannot be asked for a while: the
// producer's appends are refused until the truth is known, then a repetition is
// recognised.
func TestProducerUnknownOutcome(t *testing.T) {
	for _, stored := range []bool{true, false} {
		t.Run(fmt.Sprint("stored: ", stored), func(t *testing.T) {
			inner := memory.Open()
			ledgers := &scripted.Ledgers{Inner: inner}
			e, err := engine.Open(t.Context(), engine.Settings{Ledgers: ledgers, Metadata: inner.Metadata(), Plugin: inner}, engine.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close(context.Background())
			topic, err := e.CreateTopic(t.Context(), "orders", engine.TopicOptions{})
			if err != nil {
				t.Fatal(err)
			}
			p := producer(t, topic, "p")
			mustAppend(t, p, 0, numbered(1, 3)...)
			step := scripted.Step{Before: sdk.ErrUnknownOutcome}
			if stored {
				step = scripted.Step{After: sdk.ErrUnknownOutcome}
			}
			ledgers.Next(scripted.Append, step)
			ledgers.Always(scripted.Open, &scripted.Step{Before: sdk.ErrUnavailable})
			_, err = p.Append(t.Context(), numbered(4, 2)...)
			isAll(t, "append of unknown outcome", err, sdk.ErrUnknownOutcome)
			_, err = p.Append(t.Context(), numbered(4, 2)...)
			isAll(t, "append while nobody knows", err, sdk.ErrUnavailable)
			_, err = p.Append(t.Context(), numbered(6, 1)...)
			isAll(t, "append of later ones", err, engine.ErrProducerSequence)
			ledgers.Always(scripted.Open, nil)
			for err = sdk.ErrUnavailable; errors.Is(err, sdk.ErrUnavailable); {
				_, err = p.Append(t.Context(), numbered(4, 2)...)
			}
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, p, 0, numbered(6, 1)...)
			expectTexts(t, topic, countTo(6))
		})
	}
}

// Entries are kept until they are part of a snapshot, whatever retention says:
// a producer whose entries were all consumed and removed is still known.
func TestProducersOutliveTheirEntries(t *testing.T) {
	s := memory.Open()
	e := start(t, s)
	topic := create(t, e, "orders", map[string]string{"max-entries-per-ledger": "3", "retention-time": "0", "retention-size": "0"})
	p := producer(t, topic, "p")
	for n := range uint64(20) {
		mustAppend(t, p, 0, numbered(n+1, 1)...)
	}
	if err := topic.Roll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := topic.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectTexts(t, topic, nil)
	e.kill()
	e = start(t, s)
	topic = open(t, e, "orders")
	lastSequence(t, producer(t, topic, "p"), 20)
	p = producer(t, topic, "p")
	mustAppend(t, p, 0, numbered(21, 5)...)
	if err := topic.Truncate(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.kill()
	e = start(t, s)
	lastSequence(t, producer(t, open(t, e, "orders"), "p"), 25)
}

func TestProducersAreNotCursors(t *testing.T) {
	e := start(t, memory.Open())
	topic := create(t, e, "orders", nil)
	mustAppend(t, producer(t, topic, "p"), 0, numbered(1, 1)...)
	d, err := topic.Describe(t.Context())
	if err != nil || len(d.Cursors) != 0 || len(topic.Cursors()) != 0 {
		t.Errorf("cursors %v and %v, %v", d.Cursors, topic.Cursors(), err)
	}
	if len(d.Producers) != 1 || d.Producers[0].Name != "p" || *d.Producers[0].LastSequence != 1 || !d.Producers[0].Connected {
		t.Errorf("producers %+v", d.Producers)
	}
	isAll(t, "delete the internal cursor", topic.DeleteCursor(t.Context(), "#producers"), engine.ErrInvalidName)
}

// A producer named in a plain append means nothing.
func TestPlainAppendHasNoProducer(t *testing.T) {
	e := start(t, memory.Open())
	topic := create(t, e, "orders", nil)
	p := producer(t, topic, "p")
	for range 2 {
		if _, err := topic.Append(t.Context(), message.Message{Payload: []byte("x"), Producer: "p", Sequence: 5}); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, p, 0, numbered(5, 1)...)
	expectTexts(t, topic, []string{"x", "x", "5"})
}

// Deleting a topic forgets its producers.
func TestDeletedTopicForgetsProducers(t *testing.T) {
	s := memory.Open()
	e := start(t, s)
	mustAppend(t, producer(t, create(t, e, "orders", nil), "p"), 0, numbered(1, 5)...)
	if err := e.DeleteTopic(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	p := producer(t, create(t, e, "orders", nil), "p")
	if last, known := p.LastSequence(); known {
		t.Errorf("the producer is known, with %d", last)
	}
	mustAppend(t, p, 0, numbered(1, 5)...)
	e.stop(t)
	left, err := s.Metadata().List(t.Context(), "", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 3 { // the topic, its producers, the cursor that keeps their entries
		t.Errorf("the metadata store holds %d keys: %v", len(left), left)
	}
}
