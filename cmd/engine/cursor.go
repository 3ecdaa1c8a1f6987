package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tidemark-engine/tidemark/engine/quantity"
	"github.com/tidemark-engine/tidemark/sdk/client"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

func newCursor(sh *shell) *cobra.Command {
	return group("cursor", "Create, describe, move and remove cursors",
		newCursorCreate(sh), newCursorList(sh), newCursorDescribe(sh), newCursorSeek(sh), newCursorSkip(sh),
		newCursorClear(sh), newCursorExpire(sh), newCursorDelete(sh))
}

const startUsage = "earliest, latest, LEDGER:ENTRY, a time as in 2030-01-31T12:00:00Z, or @CURSOR"

// onCursor is a command on one cursor, with further arguments of these names,
// that says where the cursor stands afterwards.
func (sh *shell) onCursor(use, short string, more []string, do func(ctx context.Context, c *client.Client, arguments []string) (*tidemarkv1.Cursor, error)) *cobra.Command {
	use += " TOPIC CURSOR"
	for _, name := range more {
		use += " " + name
	}
	return &cobra.Command{
		Use:               use,
		Short:             short,
		Args:              named(2, cobra.ExactArgs(2+len(more))),
		ValidArgsFunction: sh.completeCursors,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return sh.withClient(cmd.Context(), func(c *client.Client) error {
				cursor, err := do(cmd.Context(), c, arguments)
				if err != nil {
					return err
				}
				view := viewCursor(cursor)
				return sh.answer(view, func(t *table) { cursorTable(t, []cursorView{view}) })
			})
		},
	}
}

func cursorTable(t *table, cursors []cursorView) {
	t.head("cursor", "mark-delete", "read position", "backlog", "connected")
	for _, c := range cursors {
		t.row(c.Name, c.MarkDelete, c.ReadPosition, humanize.Comma(c.Backlog), c.Connected)
	}
	for _, c := range cursors {
		if c.RangesLeftOut > 0 {
			t.row()
			t.row(fmt.Sprintf("%s: %s acknowledged ranges beyond max-ack-ranges are not stored and come again after a restart", c.Name, humanize.Comma(c.RangesLeftOut)))
		}
	}
}

// parseStart reads where to begin; what it cannot read is a usage error.
func parseStart(text string) (client.Start, error) {
	start, err := client.ParseStart(text)
	if err != nil {
		return start, usageError{err}
	}
	return start, nil
}

func newCursorCreate(sh *shell) *cobra.Command {
	var from string
	c := sh.onCursor("create", "Create a durable cursor", nil, func(ctx context.Context, c *client.Client, arguments []string) (*tidemarkv1.Cursor, error) {
		start, err := parseStart(from)
		if err != nil {
			return nil, err
		}
		return c.CreateCursor(ctx, arguments[0], arguments[1], start)
	})
	c.Flags().StringVar(&from, "from", "earliest", "where it begins: "+startUsage)
	return c
}

func newCursorList(sh *shell) *cobra.Command {
	return sh.onTopic("list", "List the cursors of a topic", func(ctx context.Context, c *client.Client, topic string) error {
		cursors, err := c.Cursors(ctx, topic)
		if err != nil {
			return err
		}
		views := viewCursors(cursors)
		return sh.answer(views, func(t *table) { cursorTable(t, views) })
	})
}

func newCursorDescribe(sh *shell) *cobra.Command {
	return sh.onCursor("describe", "Say where a cursor stands", nil, func(ctx context.Context, c *client.Client, arguments []string) (*tidemarkv1.Cursor, error) {
		return c.DescribeCursor(ctx, arguments[0], arguments[1])
	})
}

func newCursorSeek(sh *shell) *cobra.Command {
	c := sh.onCursor("seek", "Move a cursor; acknowledgements beyond the new place are forgotten", []string{"START"}, func(ctx context.Context, c *client.Client, arguments []string) (*tidemarkv1.Cursor, error) {
		start, err := parseStart(arguments[2])
		if err != nil {
			return nil, err
		}
		return c.SeekCursor(ctx, arguments[0], arguments[1], start)
	})
	c.Long = c.Short + ".\nSTART is " + startUsage + "."
	return c
}

func newCursorSkip(sh *shell) *cobra.Command {
	return sh.onCursor("skip", "Acknowledge the next COUNT entries unread", []string{"COUNT"}, func(ctx context.Context, c *client.Client, arguments []string) (*tidemarkv1.Cursor, error) {
		n, err := strconv.ParseInt(arguments[2], 10, 64)
		if err != nil || n < 0 {
			return nil, usageError{fmt.Errorf("%q is not a number of entries", arguments[2])}
		}
		return c.SkipEntries(ctx, arguments[0], arguments[1], n)
	})
}

func newCursorClear(sh *shell) *cobra.Command {
	return sh.onCursor("clear", "Acknowledge all entries that are there", nil, func(ctx context.Context, c *client.Client, arguments []string) (*tidemarkv1.Cursor, error) {
		return c.ClearBacklog(ctx, arguments[0], arguments[1])
	})
}

func newCursorExpire(sh *shell) *cobra.Command {
	c := sh.onCursor("expire", "Acknowledge entries that are older than AGE", []string{"AGE"}, func(ctx context.Context, c *client.Client, arguments []string) (*tidemarkv1.Cursor, error) {
		age, err := quantity.ParseDuration(arguments[2])
		if err != nil || age < 0 {
			return nil, usageError{fmt.Errorf("%q is not an age, for instance 90s, 4h or 7d", arguments[2])}
		}
		if _, err := c.ExpireEntries(ctx, arguments[0], arguments[1], time.Now().Add(-age)); err != nil {
			return nil, err
		}
		return c.DescribeCursor(ctx, arguments[0], arguments[1])
	})
	return c
}

func newCursorDelete(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:               "delete TOPIC CURSOR",
		Short:             "Remove a cursor",
		Args:              named(2, cobra.ExactArgs(2)),
		ValidArgsFunction: sh.completeCursors,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return sh.withClient(cmd.Context(), func(c *client.Client) error {
				if err := c.DeleteCursor(cmd.Context(), arguments[0], arguments[1]); err != nil {
					return err
				}
				return sh.done(done{Topic: arguments[0], Done: "deleted"}, "cursor "+arguments[1]+" is gone")
			})
		},
	}
}
