package main

import (
	"bufio"
	"context"

	"github.com/spf13/cobra"

	"github.com/tidemark-engine/tidemark/sdk/client"
)

func newDump(sh *shell) *cobra.Command {
	var from string
	var limit entryCount
	c := sh.onTopic("dump", "Write all about a topic and its entries as lines of JSON", func(ctx context.Context, c *client.Client, topic string) error {
		start, err := parseStart(from)
		if err != nil {
			return err
		}
		t, err := c.DescribeTopic(ctx, topic)
		if err != nil {
			return err
		}
		out := &entryOutput{out: bufio.NewWriterSize(sh.out, readBuffer), left: uint64(limit)}
		if err := writeJSONLine(out.out, map[string]topicView{"topic": viewTopic(t)}); err != nil {
			return err
		}
		if err := out.out.Flush(); err != nil {
			return err
		}
		return sh.read(ctx, c, topic, start, readFlags{limit: limit}, out)
	})
	c.Long = `Writes one object of JSON a line: first {"topic": ...} with all that topic
describe says, then every entry with its position, publish time, producer,
sequence, key, attributes and payload (bytes in base64). Nothing is changed.`
	c.Flags().StringVar(&from, "from", "earliest", "where to begin: "+startUsage)
	c.Flags().VarP(&limit, "limit", "n", "end after `N` entries; 0 means no limit")
	return c
}
