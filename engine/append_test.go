package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

func TestS002BytesAreCopiedAtTheCall(t *testing.T) {
	for name, s := range stores(t) {
		for _, cacheBytes := range []int64{0, 64 << 20} {
			t.Run(fmt.Sprintf("%s/cache %d", name, cacheBytes), func(t *testing.T) {
				e := start(t, s, func(c *engine.Config) { c.Cache.MaxBytes = cacheBytes })
				topic := create(t, e, fmt.Sprint("bytes/", cacheBytes), nil)
				if _, err := topic.OpenCursor(t.Context(), "reader", managedledger.CursorOptions{From: managedledger.Earliest()}); err != nil {
					t.Fatal(err)
				}
				const appends = 1000
				shared := make([]byte, 4096)
				var running sync.WaitGroup
				for i := range appends {
					for j := range shared {
						shared[j] = byte(i)
					}
					running.Add(1)
					m := message.Message{Payload: shared, Key: shared[:8], Attributes: map[string]string{"i": fmt.Sprint(i)}}
					err := topic.AppendAsync([]message.Message{m}, func(_ engine.Appended, err error) {
						if err != nil {
							t.Error(err)
						}
						running.Done()
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				clear(shared)
				running.Wait()
				n := 0
				for from := topic.Resolve(managedledger.Earliest()); n < appends; {
					r, err := topic.Read(t.Context(), from, managedledger.Max{Entries: 100, Bytes: 1 << 20})
					if err != nil || len(r.Entries) == 0 {
						t.Fatalf("after %d entries: %d more, %v", n, len(r.Entries), err)
					}
					for _, entry := range r.Entries {
						m, err := message.Decode(entry.Payload)
						if err != nil {
							t.Fatal(err)
						}
						want := bytes.Repeat([]byte{byte(n)}, 4096)
						if !bytes.Equal(m.Payload, want) || !bytes.Equal(m.Key, want[:8]) || m.Attributes["i"] != fmt.Sprint(n) {
							t.Fatalf("entry %d holds bytes of a later moment", n)
						}
						n++
					}
					from = r.Next
				}
			})
		}
	}
}

func TestAppendSetsPublishTime(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			topic := create(t, start(t, s), "orders", nil)
			before := time.Now()
			own := time.Unix(1000, 5)
			a, err := topic.Append(t.Context(), message.Message{Payload: []byte("a"), PublishTime: own}, message.Message{Payload: []byte("b")})
			if err != nil {
				t.Fatal(err)
			}
			after := time.Now()
			r, err := topic.Read(t.Context(), a.First(), managedledger.Max{Entries: 2, Bytes: 1 << 20})
			if err != nil || len(r.Entries) != 2 || r.Entries[1].Position != a.Last() {
				t.Fatalf("%+v, %v", r, err)
			}
			if at, ok := message.PublishTime(r.Entries[0].Payload); !ok || !at.Equal(own) {
				t.Errorf("a time that was given became %v", at)
			}
			if at, ok := message.PublishTime(r.Entries[1].Payload); !ok || at.Before(before.Truncate(0)) || at.After(after) {
				t.Errorf("published at %v, not between %v and %v", at, before, after)
			}
		})
	}
}

func TestAppendRefuses(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			topic := create(t, start(t, s), "orders", map[string]string{"max-entry-size": "1KiB"})
			_, err := topic.Append(t.Context())
			isAll(t, "nothing", err, sdk.ErrInvalid)
			_, err = topic.Append(t.Context(), messages("small", string(make([]byte, 1025)))...)
			isAll(t, "too large", err, sdk.ErrTooLarge)
			isAll(t, "too large", topic.AppendAsync(messages(string(make([]byte, 1025))), nil), sdk.ErrTooLarge)
			p := producer(t, topic, "p")
			_, err = p.Append(t.Context(), append(numbered(1, 2), numbered(2, 1)...)...)
			isAll(t, "sequences that do not rise", err, engine.ErrProducerSequence)
			if got := texts(t, topic); len(got) != 0 {
				t.Errorf("something of it was stored: %v", got)
			}
			last, err := topic.Terminate(t.Context())
			if again, err2 := topic.Terminate(t.Context()); err != nil || err2 != nil || again != last {
				t.Errorf("terminated at %v and %v, %v, %v", last, again, err, err2)
			}
			_, err = topic.Append(t.Context(), messages("x")...)
			isAll(t, "terminated", err, engine.ErrTerminated)
		})
	}
}

// A second engine on the same store takes a topic over; the first one hears of
// it at its next step and touches nothing any more.
func TestS038FormerOwnerStops(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			a, b := start(t, s), start(t, s)
			overrides := map[string]string{"max-entries-per-ledger": "3", "retention-time": "0", "retention-size": "0"}
			topicA := create(t, a, "orders", overrides)
			pA := producer(t, topicA, "p")
			mustAppend(t, pA, 0, numbered(1, 2)...)
			cursorA, err := topicA.OpenCursor(t.Context(), "c", managedledger.CursorOptions{Durable: true, From: managedledger.Earliest()})
			if err != nil {
				t.Fatal(err)
			}
			topicB := open(t, b, "orders")
			pB := producer(t, topicB, "p")
			mustAppend(t, pB, 2, numbered(1, 4)...)

			_, err = pA.Append(t.Context(), numbered(3, 1)...)
			isAll(t, "append by the former owner", err, engine.ErrOwnerLost, sdk.ErrFenced)
			isAll(t, "acknowledge", cursorA.AcknowledgeUpTo(t.Context(), topicA.LastConfirmed()), sdk.ErrFenced)
			_, err = topicA.Trim(t.Context())
			isAll(t, "trim", err, engine.ErrOwnerLost)
			isAll(t, "overrides", topicA.SetOverrides(t.Context(), map[string]string{"read-policy": "extend-on-executor"}), engine.ErrOwnerLost)
			_, err = topicA.Append(t.Context(), messages("x")...)
			isAll(t, "append", err, engine.ErrOwnerLost)

			// All that the present owner does by compare-and-set still works.
			if err := topicB.SetOverrides(t.Context(), map[string]string{"submission": "ordered-executor"}); err != nil {
				t.Error(err)
			}
			cursorB, err := topicB.Cursor("c")
			if err != nil {
				t.Fatal(err)
			}
			if err := cursorB.AcknowledgeUpTo(t.Context(), topicB.Resolve(managedledger.Earliest())); err != nil {
				t.Error(err)
			}
			mustAppend(t, pB, 0, numbered(5, 1)...)
			expectTexts(t, topicB, countTo(5))

			// Asked for it again, the first engine takes it back.
			back := producer(t, open(t, a, "orders"), "p")
			lastSequence(t, back, 5)
			mustAppend(t, back, 0, numbered(6, 1)...)
			_, err = pB.Append(t.Context(), numbered(6, 1)...)
			isAll(t, "append by the owner between", err, engine.ErrOwnerLost)
		})
	}
}

// A metadata store that fails for a while during a roll does not end a topic.
func TestS040PassingMetadataError(t *testing.T) {
	for name, inner := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &scripted.Metadata{Inner: inner.Metadata()}
			e, err := engine.Open(t.Context(), engine.Settings{Ledgers: inner, Metadata: m, Plugin: inner}, engine.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close(context.Background())
			topic, err := e.CreateTopic(t.Context(), "orders", engine.TopicOptions{Overrides: map[string]string{"max-entries-per-ledger": "1"}})
			if err != nil {
				t.Fatal(err)
			}
			stored := 0
			try := func() bool {
				_, err := topic.Append(t.Context(), messages("x")...)
				if err == nil {
					stored++
				}
				return err == nil
			}
			if !try() {
				t.Fatal("the first append failed")
			}
			m.Always(scripted.Put, &scripted.Step{Before: sdk.ErrUnavailable})
			failed := 0
			for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
				if !try() {
					failed++
				}
			}
			m.Always(scripted.Put, nil)
			healed := time.Now()
			for !try() {
				if time.Since(healed) > 30*time.Second {
					t.Fatal("the topic does not take entries again")
				}
			}
			if failed == 0 {
				t.Error("nothing failed, so nothing was shown")
			}
			if got := texts(t, topic); len(got) != stored {
				t.Errorf("%d entries, %d were acknowledged", len(got), stored)
			}
		})
	}
}
