package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// produceFlags are the flags of produce.
type produceFlags struct {
	retry    retry
	framing  string
	producer string
	key      string
}

func newProduce(sh *shell) *cobra.Command {
	var flags produceFlags
	c := &cobra.Command{
		Use:   "produce TOPIC [FILE...]",
		Short: "Append entries from files or standard input",
		Long: `Appends one entry a line, or as --framing says, of the files in their order or
of standard input (also -). Lines may be empty, hold any bytes, and be as long
as the topic takes. It returns when everything is durable, and prints how many
entries that were and where the last one is.

While the daemon cannot be reached it waits and goes on, within --retry-for;
nothing is stored twice by that. With --producer NAME that holds for a later
run too: entries are numbered from the beginning of the input, and those that
were stored under this name before are not stored again. So a run that was
killed can be repeated with the same input, and of a file that has grown only
what is new is stored.`,
		Args:              named(1, cobra.MinimumNArgs(1)),
		ValidArgsFunction: sh.completeTopics,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if _, err := newFrameReader(flags.framing, nil, 0); err != nil {
				return err
			}
			if err := checkNames(flags.producer); err != nil {
				return err
			}
			in, err := openInputs(arguments[1:], sh.in)
			if err != nil {
				return err
			}
			defer in.close()
			return sh.withPatience(cmd.Context(), &flags.retry, func(c *client.Client) error {
				return sh.produce(cmd.Context(), c, arguments[0], in, flags)
			})
		},
	}
	flags.retry.register(c)
	c.Flags().StringVar(&flags.framing, "framing", "line", "how entries stand in the input: `line`, or length (four bytes, the highest first, before each)")
	c.RegisterFlagCompletionFunc("framing", cobra.FixedCompletions(framings(), cobra.ShellCompDirectiveNoFileComp))
	c.Flags().StringVar(&flags.producer, "producer", "", "`NAME` under which a repeated run stores nothing twice")
	c.Flags().StringVar(&flags.key, "key", "", "`KEY` of all entries")
	return c
}

// produced is the answer of produce.
type produced struct {
	Topic string `json:"topic"`
	// Count is how many entries of the input are durable now; Duplicates how
	// many of them a run before had stored. What this run sent twice, because a
	// connection broke, is no duplicate.
	Count      int64  `json:"count"`
	Duplicates int64  `json:"duplicates"`
	First      string `json:"first,omitempty"`
	Last       string `json:"last,omitempty"`
	Producer   string `json:"producer,omitempty"`
}

// tally follows the answers to what was sent.
type tally struct {
	mu     sync.Mutex // guards all below
	sum    produced
	err    error                   // the first failure
	broken context.CancelCauseFunc // called with it
}

func (t *tally) answer(r client.Receipt, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil && t.err == nil:
		t.err = err
		t.broken(err)
	case err != nil:
	case r.Duplicate: // sent again by this run; where it is nobody says
		t.sum.Count++
		t.sum.Last = ""
	default:
		t.sum.Count++
		t.sum.Last = r.Position.String()
		if t.sum.First == "" {
			t.sum.First = t.sum.Last
		}
	}
}

// skipped notes an entry that a run before has stored.
func (t *tally) skipped() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Count++
	t.sum.Duplicates++
}

func (t *tally) result() (produced, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum, t.err
}

// produce sends all inputs and says what became of them, also when it fails in
// the middle.
func (sh *shell) produce(ctx context.Context, c *client.Client, topic string, in *inputs, flags produceFlags) error {
	p, err := c.Producer(ctx, topic, client.ProducerOptions{Name: flags.producer})
	if err != nil {
		return err
	}
	sending, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	t := &tally{sum: produced{Topic: topic, Producer: flags.producer}, broken: broken}
	errSend := sh.sendInputs(sending, p, in, flags, t)
	closing, closed := lingering(ctx) // a signal ends the reading; what was read is still sent
	defer closed()
	errClose := p.Close(closing)
	sum, err := t.result()
	if err == nil {
		err = errors.Join(errSend, errClose)
	}
	errAnswer := sh.answer(sum, sum.table)
	if err == nil {
		return errAnswer
	}
	return fmt.Errorf("%w\n%d entries of the input are durable", err, sum.Count)
}

func (p produced) table(t *table) {
	note := ""
	if p.Duplicates > 0 {
		note = fmt.Sprintf(", %s of them had been stored before", humanize.Comma(p.Duplicates))
	}
	last := ""
	if p.Last != "" {
		last = ", the last one at " + p.Last
	}
	t.row(fmt.Sprintf("%s entries%s%s", humanize.Comma(p.Count), last, note))
}

// sendInputs hands every entry to the producer, which makes batches of them and
// lets it wait while too much is on its way.
func (sh *shell) sendInputs(ctx context.Context, p *client.Producer, in *inputs, flags produceFlags, t *tally) error {
	progress := newProgress(sh.err, in.size)
	defer progress.end()
	s := &sender{producer: p, named: flags.producer != "", key: []byte(flags.key), tally: t}
	s.stored, _ = p.LastSequence()
	for _, file := range in.files {
		frames, err := newFrameReader(flags.framing, file.reader(ctx, progress), p.MaxEntryBytes())
		if err != nil {
			return err
		}
		for {
			payload, err := frames.next()
			if err == io.EOF {
				break
			}
			if err == nil {
				err = s.send(ctx, payload)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file.name, err)
			}
		}
	}
	return nil
}

// sender numbers entries, if the producer has a name, and sends them.
type sender struct {
	producer *client.Producer
	named    bool
	stored   uint64 // the last sequence that a run before has stored
	sequence uint64 // of the entry before
	key      []byte
	tally    *tally
}

func (s *sender) send(ctx context.Context, payload []byte) error {
	m := message.Message{Payload: payload, Key: s.key}
	if s.named {
		s.sequence++
		if s.sequence <= s.stored {
			s.tally.skipped()
			return nil
		}
		m.Sequence = s.sequence
	}
	err := s.producer.SendAsync(ctx, m, s.tally.answer)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, sdk.ErrTooLarge) {
		return cause
	}
	return err
}
