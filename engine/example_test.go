package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// A topic is written to and read through a durable cursor. For a store that
// keeps what it gets, open plugins/pebble with a directory instead.
func Example() {
	ctx := context.Background()
	store := memory.Open()
	defer store.Close(ctx) // after the engine
	e, err := engine.Open(ctx, engine.Settings{Ledgers: store, Metadata: store.Metadata(), Plugin: store}, engine.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close(ctx)

	topic, err := e.CreateTopic(ctx, "orders", engine.TopicOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := topic.Append(ctx,
		message.Message{Payload: []byte("first")},
		message.Message{Payload: []byte("second"), Key: []byte("customer-7")},
	); err != nil {
		log.Fatal(err) // otherwise both are durable
	}

	billing, err := topic.OpenCursor(ctx, "billing", managedledger.CursorOptions{Durable: true, From: managedledger.Earliest()})
	if err != nil {
		log.Fatal(err)
	}
	result, err := billing.ReadOrWait(ctx, managedledger.Max{Entries: 100, Bytes: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	for _, entry := range result.Entries {
		m, err := message.Decode(entry.Payload)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s\n", entry.Position, m.Payload)
		if err := billing.Acknowledge(ctx, entry.Position); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("left:", billing.Backlog())
	// Output:
	// 0:0 first
	// 0:1 second
	// left: 0
}

// A named producer may repeat what it has no answer for: it is stored once.
func ExampleTopic_Producer() {
	ctx := context.Background()
	store := memory.Open()
	e, err := engine.Open(ctx, engine.Settings{Ledgers: store, Metadata: store.Metadata(), Plugin: store}, engine.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close(ctx)
	topic, err := e.CreateTopic(ctx, "orders", engine.TopicOptions{})
	if err != nil {
		log.Fatal(err)
	}

	p, err := topic.Producer(ctx, "importer")
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	for range 2 { // the second time stands for a retry
		a, err := p.Append(ctx, message.Message{Payload: []byte("first"), Sequence: 1})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("duplicates:", a.Duplicates)
	}
	last, _ := p.LastSequence()
	fmt.Println("last sequence:", last)
	// Output:
	// duplicates: 0
	// duplicates: 1
	// last sequence: 1
}

// Settings of a topic are changed while it is in use.
func ExampleTopic_SetOverrides() {
	ctx := context.Background()
	store := memory.Open()
	e, err := engine.Open(ctx, engine.Settings{Ledgers: store, Metadata: store.Metadata(), Plugin: store}, engine.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close(ctx)
	topic, err := e.CreateTopic(ctx, "orders", engine.TopicOptions{Overrides: map[string]string{"retention-time": "7d"}})
	if err != nil {
		log.Fatal(err)
	}
	if err := topic.SetOverrides(ctx, map[string]string{"retention-time": "", "submission": "ordered-executor"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(topic.Overrides())
	fmt.Println(topic.SetOverrides(ctx, map[string]string{"retention-tim": "7d"}))
	// Output:
	// map[submission:ordered-executor]
	// topic "orders": change settings: invalid setting: "retention-tim" is unknown, the nearest is "retention-time"
}
