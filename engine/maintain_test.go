package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

func describe(t *testing.T, topic *engine.Topic) engine.Description {
	t.Helper()
	d, err := topic.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// By themselves, old ledgers roll, and consumed ones go when their time is over;
// an empty topic is left alone.
func TestMaintenanceRollsAndTrims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, memory.Open())
		defer e.stop(t)
		overrides := map[string]string{"max-ledger-age": "1h", "retention-time": "3h"}
		busy, idle := create(t, e, "busy", overrides), create(t, e, "idle", overrides)
		appendTexts(t, busy, "old")
		if _, err := idle.OpenCursor(t.Context(), "c", managedledger.CursorOptions{Durable: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		if d := describe(t, busy); len(d.Ledgers) != 1 || !d.Ledgers[0].ClosedAt.IsZero() {
			t.Errorf("after half its time: %+v", d.Ledgers)
		}
		time.Sleep(31 * time.Minute)
		if d := describe(t, busy); len(d.Ledgers) != 1 || d.Ledgers[0].ClosedAt.IsZero() {
			t.Errorf("after its time: %+v", d.Ledgers)
		}
		expectTexts(t, busy, []string{"old"})
		time.Sleep(3*time.Hour + time.Minute)
		expectTexts(t, busy, nil)
		appendTexts(t, busy, "new")
		expectTexts(t, busy, []string{"new"})
		if d := describe(t, idle); len(d.Ledgers) != 0 {
			t.Errorf("an empty topic has %+v", d.Ledgers)
		}
	})
}

// Entries leave the cache when their time is over, and a shorter interval takes
// effect on the running engine.
func TestMaintenanceEvicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, memory.Open(), func(c *engine.Config) { c.Cache.TTL = time.Minute })
		defer e.stop(t)
		topic := create(t, e, "orders", nil)
		texts(t, topic) // somebody reads, so that the cache is worth its while
		appendTexts(t, topic, "a", "b")
		if s := e.Stats(); s.Cache.Entries != 2 {
			t.Fatalf("%d entries in the cache", s.Cache.Entries)
		}
		config := e.Config()
		config.MaintenanceInterval = 100 * time.Millisecond
		if err := e.Configure(config); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute + time.Second)
		if s := e.Stats(); s.Cache.Entries != 0 {
			t.Errorf("%d entries in the cache after their time", s.Cache.Entries)
		}
	})
}

// What is known of producers is stored while a topic is written to by others,
// so that a recovery has little to read.
func TestMaintenanceMovesProducersOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.Open()
		metadata := &scripted.Metadata{Inner: s.Metadata()}
		config := engine.DefaultConfig()
		config.ProducerSnapshotEntries = 10
		e, err := engine.Open(t.Context(), engine.Settings{Ledgers: s, Metadata: metadata, Plugin: s}, config)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.Background())
		topic, err := e.CreateTopic(t.Context(), "orders", engine.TopicOptions{Overrides: map[string]string{
			"max-entries-per-ledger": "5", "retention-time": "0", "retention-size": "0",
		}})
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, producer(t, topic, "p"), 0, numbered(1, 1)...)
		metadata.Always(scripted.Put, &scripted.Step{Before: sdk.ErrUnavailable})
		time.Sleep(5 * time.Second) // a snapshot fails now and then; it is tried again
		metadata.Always(scripted.Put, nil)
		for range 50 {
			appendTexts(t, topic, "x")
		}
		time.Sleep(5 * time.Second)
		if d := describe(t, topic); d.Entries > 15 {
			t.Errorf("%d entries are kept for producers that are known", d.Entries)
		}
	})
}

func TestHealth(t *testing.T) {
	s := memory.Open()
	e := start(t, s)
	if err := e.Health(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := e.Health(t.Context())
	isAll(t, "health with a closed store", err, sdk.ErrClosed)
	if err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("the store is not named: %v", err)
	}
}

// Counters never go down: not when a topic is deleted, nor when it is lost and
// opened again.
func TestStatsNeverGoDown(t *testing.T) {
	s := memory.Open()
	a, b := start(t, s), start(t, s)
	topic := create(t, a, "orders", nil)
	p := producer(t, topic, "p")
	mustAppend(t, p, 0, numbered(1, 5)...)
	mustAppend(t, p, 5, numbered(1, 5)...)
	check := func(when string, entries int64) {
		t.Helper()
		s := a.Stats()
		if s.Totals.AddedEntries != entries || s.Totals.Duplicates != 5 || s.Totals.AddedBytes == 0 || s.Lanes.ByKind[1].Tasks == 0 {
			t.Errorf("%s: %+v", when, s.Totals)
		}
	}
	check("at first", 5)
	open(t, b, "orders")
	_, err := p.Append(t.Context(), numbered(6, 1)...)
	isAll(t, "append by the former owner", err, engine.ErrOwnerLost)
	appendTexts(t, open(t, a, "orders"), "x")
	check("after it was lost and opened again", 6)
	if err := a.DeleteTopic(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	check("after it was deleted", 6)
	if s := a.Stats(); s.Topics != 0 || s.Open != 0 || s.Totals.PendingEntries != 0 {
		t.Errorf("%+v", s)
	}
}

// A topic that another engine deletes is gone here too, and can be made anew.
func TestDeletedElsewhere(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			a, b := start(t, s), start(t, s)
			topic := create(t, a, "orders", nil)
			appendTexts(t, topic, "x")
			if err := b.DeleteTopic(t.Context(), "orders"); err != nil {
				t.Fatal(err)
			}
			_, err := topic.Append(t.Context(), message.Message{})
			if err == nil {
				t.Fatal("an append to a deleted topic succeeded")
			}
			_, err = a.Topic(t.Context(), "orders")
			isAll(t, "open after it was deleted elsewhere", err, engine.ErrTopicNotFound)
			again := create(t, a, "orders", nil)
			appendTexts(t, again, "y")
			expectTexts(t, again, []string{"y"})
		})
	}
}
