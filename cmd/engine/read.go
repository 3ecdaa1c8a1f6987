package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
)

// readFlags are the flags of read.
type readFlags struct {
	retry   retry
	framing string
	cursor  string
	from    string
	follow  bool
	limit   entryCount
}

// entryCount is a flag that is a number of entries.
type entryCount uint64

func (n *entryCount) String() string { return strconv.FormatUint(uint64(*n), 10) }
func (n *entryCount) Type() string   { return "N" }

func (n *entryCount) Set(text string) error {
	count, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return errors.New("a number of entries is a whole number from 0")
	}
	*n = entryCount(count)
	return nil
}

func newRead(sh *shell) *cobra.Command {
	var flags readFlags
	c := &cobra.Command{
		Use:   "read TOPIC",
		Short: "Write entries to standard output",
		Long: `Writes the entries of a topic to standard output, each followed by a newline or
as --framing says, and ends at the tail unless --follow is given.

With --cursor NAME it reads on from where the cursor stands, makes the cursor if
it is not there, and acknowledges what was written out, never more. Without a
cursor it reads from --from and leaves no trace.

With -o json each entry is one line: its position, publish time, key and
attributes if it has them, and the payload in base64.`,
		Args:              named(1, cobra.ExactArgs(1)),
		ValidArgsFunction: sh.completeTopics,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if err := checkNames(flags.cursor); err != nil {
				return err
			}
			start, err := parseStart(flags.from)
			if err != nil {
				return err
			}
			write, err := newFrameWriter(flags.framing)
			if err != nil {
				return err
			}
			if sh.output == "json" {
				write = nil
			}
			out := &entryOutput{out: bufio.NewWriterSize(sh.out, readBuffer), frame: write, left: uint64(flags.limit)}
			return sh.withPatience(cmd.Context(), &flags.retry, func(c *client.Client) error {
				return sh.read(cmd.Context(), c, arguments[0], start, flags, out)
			})
		},
	}
	flags.retry.register(c)
	f := c.Flags()
	f.StringVar(&flags.cursor, "cursor", "", "`NAME` of the cursor to read through")
	f.StringVar(&flags.from, "from", "earliest", "where to begin, or where a new cursor begins: "+startUsage)
	f.BoolVarP(&flags.follow, "follow", "f", false, "go on with what comes")
	f.VarP(&flags.limit, "limit", "n", "end after `N` entries; 0 means no limit")
	f.StringVar(&flags.framing, "framing", "line", "how entries stand in the output: `line`, or length (four bytes, the highest first, before each)")
	c.RegisterFlagCompletionFunc("framing", cobra.FixedCompletions(framings(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// read reads through a cursor or without one. A signal is the way to end
// following, and no failure.
func (sh *shell) read(ctx context.Context, c *client.Client, topic string, start client.Start, flags readFlags, out *entryOutput) error {
	var err error
	if flags.cursor == "" {
		reader := c.Reader(topic, client.ReadOptions{From: start, Follow: flags.follow, MaxEntries: uint64(flags.limit)})
		err = sh.copyBatches(reader.Batches(ctx), flags.follow, out, func(sdk.Position) error { return nil })
	} else {
		err = sh.readCursor(ctx, c, topic, start, flags, out)
	}
	if flags.follow && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (sh *shell) readCursor(ctx context.Context, c *client.Client, topic string, start client.Start, flags readFlags, out *entryOutput) error {
	cursor, err := c.Cursor(ctx, topic, flags.cursor, client.CursorOptions{From: start})
	if err != nil {
		return err
	}
	// What was written out is acknowledged also if a signal comes meanwhile.
	leaving, left := lingering(ctx)
	defer left()
	err = sh.copyBatches(cursor.Batches(ctx), flags.follow, out, func(last sdk.Position) error {
		return cursor.AcknowledgeUpTo(leaving, last)
	})
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return errors.Join(err, cursor.Close(closing))
}

// copyBatches writes batches out, the whole batch before any of it is
// acknowledged, until the tail, the limit or an error.
func (sh *shell) copyBatches(batches iter.Seq2[client.Batch, error], follow bool, out *entryOutput, acknowledge func(last sdk.Position) error) error {
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if batch.Gone {
			fmt.Fprintf(sh.err, "engine: entries before %s were removed before they could be read\n", batch.Next)
		}
		entries, full := out.limit(batch.Entries)
		if len(entries) > 0 {
			if err := out.write(entries); err != nil {
				return fmt.Errorf("standard output: %w", err)
			}
			if err := acknowledge(entries[len(entries)-1].Position); err != nil {
				return err
			}
		}
		if full || batch.AtHead && !follow {
			return nil
		}
	}
	return nil
}

// entryOutput writes entries to standard output.
type entryOutput struct {
	out   *bufio.Writer
	frame frameWriter // nil: as JSON
	left  uint64      // of the limit; 0 if there is none, or it is used up
}

// limit returns the entries that may still be written, and whether those are
// the last ones.
func (o *entryOutput) limit(entries []client.Entry) (_ []client.Entry, full bool) {
	if o.left == 0 || o.left > uint64(len(entries)) {
		if o.left > 0 {
			o.left -= uint64(len(entries))
		}
		return entries, false
	}
	entries = entries[:o.left]
	o.left = 0
	return entries, true
}

// write returns when all entries are out.
func (o *entryOutput) write(entries []client.Entry) error {
	for i := range entries {
		var err error
		if o.frame != nil {
			err = o.frame(o.out, entries[i].Payload)
		} else {
			err = writeJSONLine(o.out, viewEntry(&entries[i]))
		}
		if err != nil {
			return err
		}
	}
	return o.out.Flush()
}

// entryView is an entry as -o json prints it; bytes are in base64.
type entryView struct {
	Position   string            `json:"position"`
	Time       *time.Time        `json:"time,omitempty"`
	Key        []byte            `json:"key,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Producer   string            `json:"producer,omitempty"`
	Sequence   uint64            `json:"sequence,omitempty"`
	Payload    []byte            `json:"payload"`
}

func viewEntry(e *client.Entry) entryView {
	v := entryView{
		Position: e.Position.String(), Key: e.Key, Attributes: e.Attributes,
		Producer: e.Producer, Sequence: e.Sequence, Payload: e.Payload,
	}
	if v.Payload == nil {
		v.Payload = []byte{} // "" and not null
	}
	if !e.PublishTime.IsZero() {
		at := e.PublishTime.UTC()
		v.Time = &at
	}
	return v
}
