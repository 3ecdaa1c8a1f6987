package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/sdk/client"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

func newTopic(sh *shell) *cobra.Command {
	return group("topic", "Create, describe, change and remove topics",
		newTopicCreate(sh), newTopicList(sh), newTopicDescribe(sh), newTopicSet(sh),
		newTopicDelete(sh), newTopicTerminate(sh), newTopicTruncate(sh), newTopicTrim(sh), newTopicRoll(sh))
}

// done is the answer of a command that only does something to a topic.
type done struct {
	Topic   string `json:"topic"`
	Done    string `json:"done"`
	Last    string `json:"last,omitempty"`
	Ledgers *int   `json:"removed_ledgers,omitempty"`
}

func (sh *shell) done(d done, text string) error {
	return sh.answer(d, func(t *table) { t.row(text) })
}

// onTopic is a command on one topic.
func (sh *shell) onTopic(use, short string, do func(ctx context.Context, c *client.Client, topic string) error) *cobra.Command {
	return &cobra.Command{
		Use:               use + " TOPIC",
		Short:             short,
		Args:              named(1, cobra.ExactArgs(1)),
		ValidArgsFunction: sh.completeTopics,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return sh.withClient(cmd.Context(), func(c *client.Client) error { return do(cmd.Context(), c, arguments[0]) })
		},
	}
}

// assignments reads arguments of the form key=value; an empty value is allowed.
func assignments(arguments []string) (map[string]string, error) {
	values := map[string]string{}
	for _, argument := range arguments {
		key, text, found := strings.Cut(argument, "=")
		if !found || key == "" {
			return nil, usageError{fmt.Errorf("%q is not KEY=VALUE, as in read-policy=complete-at-lac", argument)}
		}
		values[key] = text
	}
	return values, nil
}

func newTopicCreate(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:   "create TOPIC [KEY=VALUE...]",
		Short: "Create a topic, with settings of its own if given",
		Long: `Creates a topic, with settings of its own if given. One that is there already is
no error, unless settings are given that it does not have.`,
		Args: named(1, cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			overrides, err := assignments(arguments[1:])
			if err != nil {
				return err
			}
			return sh.withClient(cmd.Context(), func(c *client.Client) error {
				return sh.createTopic(cmd.Context(), c, arguments[0], overrides)
			})
		},
	}
}

// createTopic makes a topic. One that is there may have got settings since it
// was made: that is an error only if others were asked for.
func (sh *shell) createTopic(ctx context.Context, c *client.Client, topic string, overrides map[string]string) error {
	err := c.CreateTopic(ctx, topic, overrides)
	if errors.Is(err, reason.ErrTopicExists) {
		if there, errThere := c.DescribeTopic(ctx, topic); errThere == nil && hasSettings(there.GetSettings(), overrides) {
			return sh.done(done{Topic: topic, Done: "unchanged"}, "topic "+topic+" is there already, with settings of its own")
		}
	}
	if err != nil {
		return err
	}
	return sh.done(done{Topic: topic, Done: "created"}, "topic "+topic+" is there")
}

// hasSettings says whether a topic has all these settings of its own, compared
// by what they mean: 7d is 168h.
func hasSettings(settings map[string]*tidemarkv1.Setting, wanted map[string]string) bool {
	own := map[string]string{}
	for key, setting := range settings {
		if setting.GetFrom() == "topic" {
			own[key] = setting.GetValue()
		}
	}
	both := maps.Clone(own)
	for key, text := range wanted {
		text = strings.TrimSpace(text)
		if _, has := own[key]; has != (text != "") { // an empty text stands for none of its own
			return false
		}
		if text != "" {
			both[key] = text
		}
	}
	is, errIs := engine.DefaultTopicConfig().With(own)
	wants, errWants := engine.DefaultTopicConfig().With(both)
	return errIs == nil && errWants == nil && is == wants
}

func newTopicList(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the names of all topics",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return sh.withClient(cmd.Context(), func(c *client.Client) error {
				names, err := c.Topics(cmd.Context())
				if err != nil {
					return err
				}
				return sh.answer(append([]string{}, names...), func(t *table) {
					for _, name := range names {
						t.row(name)
					}
				})
			})
		},
	}
}

func newTopicDescribe(sh *shell) *cobra.Command {
	return sh.onTopic("describe", "Say all about a topic", func(ctx context.Context, c *client.Client, topic string) error {
		t, err := c.DescribeTopic(ctx, topic)
		if err != nil {
			return err
		}
		v := viewTopic(t)
		return sh.answer(v, v.table)
	})
}

func (v topicView) table(t *table) {
	t.row("topic", v.Name)
	t.row("state", v.State)
	t.row("first", v.First)
	t.row("last confirmed", v.LastConfirmed)
	t.row("entries", humanize.Comma(v.Entries))
	t.row("bytes", humanize.IBytes(uint64(max(v.Bytes, 0))))
	t.row("added since open", fmt.Sprintf("%s (%d pending, %d failed, %d duplicates)", humanize.Comma(v.Totals.AddedEntries), v.Totals.PendingEntries, v.Totals.FailedAdds, v.Totals.Duplicates))
	t.row("waiting readers", v.Totals.WaitingReaders)
	t.row()
	t.head("ledger", "entries", "bytes", "closed")
	for _, l := range v.Ledgers {
		closed := "open"
		if l.ClosedAt != nil {
			closed = l.ClosedAt.Local().Format(time.DateTime)
		}
		t.row(l.ID, humanize.Comma(l.Entries), humanize.IBytes(uint64(max(l.Bytes, 0))), closed)
	}
	if len(v.Cursors) > 0 {
		t.row()
		cursorTable(t, v.Cursors)
	}
	if len(v.Producers) > 0 {
		t.row()
		t.head("producer", "last sequence", "connected", "pending")
		for _, p := range v.Producers {
			last := "-"
			if p.LastSequence != nil {
				last = humanize.Comma(int64(*p.LastSequence))
			}
			t.row(p.Name, last, p.Connected, p.Pending)
		}
	}
	t.row()
	settingsTable(t, v.Settings)
	if len(v.Lane.Work) > 0 {
		t.row()
		t.head("lane task", "tasks", "busy", "waited")
		for _, w := range v.Lane.Work {
			t.row(w.Kind, humanize.Comma(w.Tasks), seconds(w.BusySeconds), seconds(w.WaitedSeconds))
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func settingsTable(t *table, settings map[string]settingView) {
	t.head("setting", "value", "from")
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		t.row(key, settings[key].Value, settings[key].From)
	}
}

func newTopicSet(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use:   "set TOPIC KEY=VALUE...",
		Short: "Change settings of a topic while it is in use",
		Long: `Changes settings of a topic while it is in use; KEY= goes back to the daemon's
setting. Keys are those of the section topics of the configuration. All take
effect, or none.`,
		Args:              named(1, cobra.MinimumNArgs(1)),
		ValidArgsFunction: sh.completeTopics,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			changes, err := assignments(arguments[1:])
			if err != nil {
				return err
			}
			if len(changes) == 0 {
				return usageError{errors.New("nothing to set: give KEY=VALUE, as in read-policy=complete-at-lac")}
			}
			return sh.withClient(cmd.Context(), func(c *client.Client) error {
				settings, err := c.UpdateTopic(cmd.Context(), arguments[0], changes)
				if err != nil {
					return err
				}
				views := viewSettings(settings)
				return sh.answer(views, func(t *table) { settingsTable(t, views) })
			})
		},
	}
}

func newTopicDelete(sh *shell) *cobra.Command {
	var ifExists bool
	c := sh.onTopic("delete", "Remove a topic with all its entries and cursors", func(ctx context.Context, c *client.Client, topic string) error {
		_, errThere := c.DescribeTopic(ctx, topic)
		// Also one that is not there: a delete that was cut off may have left some.
		if err := c.DeleteTopic(ctx, topic); err != nil {
			return err
		}
		switch missing := errors.Is(errThere, reason.ErrTopicNotFound); {
		case missing && !ifExists:
			return reason.Error(reason.TopicNotFound, "topic "+topic+" is not there")
		case missing:
			return sh.done(done{Topic: topic, Done: "unchanged"}, "topic "+topic+" was not there")
		}
		return sh.done(done{Topic: topic, Done: "deleted"}, "topic "+topic+" is gone")
	})
	c.Flags().BoolVar(&ifExists, "if-exists", false, "one that is not there is no error")
	return c
}

func newTopicTerminate(sh *shell) *cobra.Command {
	return sh.onTopic("terminate", "End publishing to a topic for ever; it can be read on", func(ctx context.Context, c *client.Client, topic string) error {
		last, err := c.TerminateTopic(ctx, topic)
		if err != nil {
			return err
		}
		return sh.done(done{Topic: topic, Done: "terminated", Last: last.String()}, "topic "+topic+" is terminated at "+last.String())
	})
}

func newTopicTruncate(sh *shell) *cobra.Command {
	return sh.onTopic("truncate", "Remove all entries that are there, read or not", func(ctx context.Context, c *client.Client, topic string) error {
		if err := c.TruncateTopic(ctx, topic); err != nil {
			return err
		}
		return sh.done(done{Topic: topic, Done: "truncated"}, "topic "+topic+" is empty")
	})
}

func newTopicTrim(sh *shell) *cobra.Command {
	return sh.onTopic("trim", "Remove now what retention and cursors allow to remove", func(ctx context.Context, c *client.Client, topic string) error {
		ledgers, err := c.TrimTopic(ctx, topic)
		if err != nil {
			return err
		}
		return sh.done(done{Topic: topic, Done: "trimmed", Ledgers: &ledgers}, fmt.Sprintf("%d ledgers removed", ledgers))
	})
}

func newTopicRoll(sh *shell) *cobra.Command {
	return sh.onTopic("roll", "Close the open ledger and begin a new one", func(ctx context.Context, c *client.Client, topic string) error {
		if err := c.RollTopic(ctx, topic); err != nil {
			return err
		}
		return sh.done(done{Topic: topic, Done: "rolled"}, "topic "+topic+": the open ledger is closed")
	})
}
