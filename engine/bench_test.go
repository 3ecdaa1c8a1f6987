package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// BenchmarkAppend measures what a message costs through a topic, by itself and
// in batches, plain and with a named producer, on memory.
func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 16, 256} {
		msgs := make([]message.Message, batch)
		for i := range msgs {
			msgs[i].Payload = make([]byte, 128)
		}
		run := func(name string, send func(*testing.B, *engine.Topic)) {
			b.Run(fmt.Sprintf("%s/batch=%d", name, batch), func(b *testing.B) {
				s := memory.Open()
				e, err := engine.Open(context.Background(), engine.Settings{Ledgers: s, Metadata: s.Metadata(), Plugin: s}, engine.DefaultConfig())
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close(context.Background())
				topic, err := e.CreateTopic(context.Background(), "t", engine.TopicOptions{Overrides: map[string]string{
					"max-entries-per-ledger": "100000", "retention-size": "16MiB",
				}})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.ResetTimer()
				send(b, topic)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/message")
			})
		}
		run("plain", func(b *testing.B, topic *engine.Topic) {
			for range b.N {
				if _, err := topic.Append(context.Background(), msgs...); err != nil {
					b.Fatal(err)
				}
			}
		})
		run("producer", func(b *testing.B, topic *engine.Topic) {
			p, err := topic.Producer(context.Background(), "p")
			if err != nil {
				b.Fatal(err)
			}
			sequence := uint64(0)
			for range b.N {
				for i := range msgs {
					sequence++
					msgs[i].Sequence = sequence
				}
				if _, err := p.Append(context.Background(), msgs...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
