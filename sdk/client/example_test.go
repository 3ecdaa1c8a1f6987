package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// Messages are published, then read through a durable cursor that goes on with
// what comes. It needs a daemon: make run.
func Example() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "127.0.0.1:7420", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	if err := c.CreateTopic(ctx, "orders", nil); err != nil {
		log.Fatal(err)
	}

	p, err := c.Producer(ctx, "orders", client.ProducerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"first", "second"} {
		receipt, err := p.Send(ctx, message.Message{Payload: []byte(text)})
		if err != nil {
			log.Fatal(err) // otherwise it is durable
		}
		fmt.Println("sent", receipt.Position)
	}
	if err := p.Close(ctx); err != nil {
		log.Fatal(err)
	}

	billing, err := c.Cursor(ctx, "orders", "billing", client.CursorOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer billing.Close(ctx)
	for batch, err := range billing.Batches(ctx) { // follows until ctx ends
		if err != nil {
			log.Fatal(err)
		}
		for _, entry := range batch.Entries {
			fmt.Printf("%s %s\n", entry.Position, entry.Payload)
		}
		if n := len(batch.Entries); n > 0 {
			if err := billing.AcknowledgeUpTo(ctx, batch.Entries[n-1].Position); err != nil {
				log.Fatal(err)
			}
		}
		if batch.AtHead {
			break // all that was there is read
		}
	}
}
