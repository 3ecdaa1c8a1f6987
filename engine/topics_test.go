package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
)

func TestS077SameAnswersEverywhere(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			e, ctx := start(t, s), t.Context()
			first := create(t, e, "orders", map[string]string{"read-policy": "extend-on-executor"})
			if again := create(t, e, "orders", map[string]string{"read-policy": "extend-on-executor"}); again != first {
				t.Error("created twice, there are two topics")
			}
			_, err := e.CreateTopic(ctx, "orders", engine.TopicOptions{})
			isAll(t, "create with other options", err, engine.ErrTopicExists)
			if err := e.DeleteTopic(ctx, "never"); err != nil {
				t.Errorf("delete what is not there: %v", err)
			}
			for _, bad := range []string{"", "..", "a//b", strings.Repeat("x", 256), "\xff"} {
				_, err = e.CreateTopic(ctx, bad, engine.TopicOptions{})
				isAll(t, "create "+bad, err, engine.ErrInvalidName, sdk.ErrInvalid)
				_, err = e.Topic(ctx, bad)
				isAll(t, "open "+bad, err, engine.ErrInvalidName)
				isAll(t, "delete "+bad, e.DeleteTopic(ctx, bad), engine.ErrInvalidName)
				_, err = first.Cursor(bad)
				isAll(t, "cursor "+bad, err, engine.ErrInvalidName)
			}
			_, err = e.Topic(ctx, "never")
			isAll(t, "open what is not there", err, engine.ErrTopicNotFound)
			_, err = first.Cursor("never")
			isAll(t, "cursor that is not there", err, engine.ErrCursorNotFound)
			isAll(t, "delete cursor that is not there", first.DeleteCursor(ctx, "never"), engine.ErrCursorNotFound)

			appendTexts(t, first, "a")
			if err := e.DeleteTopic(ctx, "orders"); err != nil {
				t.Fatal(err)
			}
			_, err = first.Append(ctx, messages("b")...)
			isAll(t, "append after delete", err, engine.ErrTopicNotFound)
			_, err = first.Producer(ctx, "p")
			isAll(t, "producer after delete", err, engine.ErrTopicNotFound)
			_, err = e.Topic(ctx, "orders")
			isAll(t, "open after delete", err, engine.ErrTopicNotFound)
			if left := texts(t, create(t, e, "orders", nil)); len(left) != 0 {
				t.Errorf("a new topic of the same name has %v", left)
			}
		})
	}
}

func TestTopicsAreListedAcrossRestart(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			e := start(t, s)
			var want []string
			for i := range 25 {
				topic := fmt.Sprintf("größe/%02d", i)
				create(t, e, topic, nil)
				want = append(want, topic)
			}
			e.stop(t)
			e = start(t, s)
			var got []string
			for after := ""; ; after = got[len(got)-1] {
				page, err := e.Topics(t.Context(), after, 10)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, page...)
				if len(page) < 10 {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("listed %v", got)
			}
			if s := e.Stats(); s.Topics != 25 || s.Open != 0 {
				t.Errorf("%d topics, %d open, want 25 and none", s.Topics, s.Open)
			}
			_, err := e.Topics(t.Context(), "", 0)
			isAll(t, "limit 0", err, sdk.ErrInvalid)
		})
	}
}

func TestTopicLimit(t *testing.T) {
	s := memory.Open()
	e := start(t, s, func(c *engine.Config) { c.MaxTopics = 2 })
	create(t, e, "a", nil)
	create(t, e, "b", nil)
	_, err := e.CreateTopic(t.Context(), "c", engine.TopicOptions{})
	isAll(t, "a third topic", err, engine.ErrTopicLimit)
	create(t, e, "b", nil)
	if err := e.DeleteTopic(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	create(t, e, "c", nil)
	e.stop(t)
	e = start(t, s, func(c *engine.Config) { c.MaxTopics = 2 })
	_, err = e.CreateTopic(t.Context(), "a", engine.TopicOptions{})
	isAll(t, "a third topic after a restart", err, engine.ErrTopicLimit)
}

// Callers at the same time share one open; after a failed one the next caller
// tries again.
func TestOpenIsShared(t *testing.T) {
	inner := memory.Open()
	create(t, start(t, inner), "orders", nil)
	metadata := &scripted.Metadata{Inner: inner.Metadata()}
	gate := scripted.NewGate()
	metadata.Next(scripted.Get, scripted.Step{Hold: gate, Before: sdk.ErrUnavailable})
	e, err := engine.Open(t.Context(), engine.Settings{Ledgers: inner, Metadata: metadata, Plugin: inner}, engine.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())

	const callers = 8
	results := make(chan error, callers)
	var begun sync.WaitGroup
	for range callers {
		begun.Add(1)
		go func() {
			begun.Done()
			_, err := e.Topic(t.Context(), "orders")
			results <- err
		}()
	}
	begun.Wait()
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Topic(impatient, "orders")
	isAll(t, "a caller whose context ended", err, context.Canceled)
	gate.Open()
	failed := 0
	for range callers {
		if err := <-results; err != nil {
			failed++
			isAll(t, "shared open", err, sdk.ErrUnavailable)
		}
	}
	if failed == 0 {
		t.Error("nobody heard of the failed open")
	}
	if _, err := e.Topic(t.Context(), "orders"); err != nil {
		t.Errorf("the caller after a failed open: %v", err)
	}
}

func TestCreateRaces(t *testing.T) {
	e := start(t, memory.Open())
	var running sync.WaitGroup
	for i := range 16 {
		running.Go(func() {
			name := fmt.Sprint("t", i%2)
			if i%4 == 0 {
				if _, err := e.Topic(t.Context(), name); err != nil && !errors.Is(err, engine.ErrTopicNotFound) {
					t.Error(err)
				}
				return
			}
			if _, err := e.CreateTopic(t.Context(), name, engine.TopicOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if s := e.Stats(); s.Topics != 2 {
		t.Errorf("%d topics", s.Topics)
	}
}

func TestOverridesLiveAndStored(t *testing.T) {
	s := memory.Open()
	e, ctx := start(t, s), t.Context()
	topic := create(t, e, "orders", map[string]string{"max-entries-per-ledger": "2"})
	appendTexts(t, topic, "1")
	appendTexts(t, topic, "2")
	appendTexts(t, topic, "3")
	d, err := topic.Describe(ctx)
	if err != nil || len(d.Ledgers) != 2 {
		t.Fatalf("%d ledgers, %v", len(d.Ledgers), err)
	}
	err = topic.SetOverrides(ctx, map[string]string{"submision": "direct", "retention-time": "3"})
	isAll(t, "bad overrides", err, engine.ErrInvalidSetting)
	isAll(t, "unknown policy", topic.SetOverrides(ctx, map[string]string{"read-policy": "best"}), engine.ErrInvalidSetting)
	if err := topic.SetOverrides(ctx, map[string]string{"submission": "ordered-executor", "max-entries-per-ledger": ""}); err != nil {
		t.Fatal(err)
	}
	check := func(topic *engine.Topic) {
		t.Helper()
		d, err := topic.Describe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if c := d.Settings["submission"]; c != (engine.Choice{Value: "ordered-executor", From: "topic"}) {
			t.Errorf("submission is %+v", c)
		}
		if c := d.Settings["max-entries-per-ledger"]; c != (engine.Choice{Value: "50000", From: "engine"}) {
			t.Errorf("max-entries-per-ledger is %+v", c)
		}
	}
	check(topic)
	e.stop(t)
	check(open(t, start(t, s), "orders"))
}

func TestConfigureReachesOpenTopics(t *testing.T) {
	e := start(t, memory.Open())
	plain := create(t, e, "plain", nil)
	own := create(t, e, "own", map[string]string{"max-entry-size": "1MiB"})
	config := e.Config()
	config.Topic.MaxEntryBytes = 10
	if err := e.Configure(config); err != nil {
		t.Fatal(err)
	}
	_, err := plain.Append(t.Context(), messages("more than ten bytes")...)
	isAll(t, "append of too much", err, sdk.ErrTooLarge)
	appendTexts(t, own, "more than ten bytes")
	config.Topic.ReadPolicy = "nonsense"
	config.MaxTopics = 0
	err = e.Configure(config)
	isAll(t, "a bad configuration", err, engine.ErrInvalidSetting)
	if err != nil && (!strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), "max-topics")) {
		t.Errorf("not all problems are said: %v", err)
	}
	config = e.Config()
	config.Scheduler.Workers++
	isAll(t, "another scheduler", e.Configure(config), engine.ErrInvalidSetting)
}
