package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
)

// closeLimit bounds how long a command takes to leave the server.
const closeLimit = 5 * time.Second

// retry is the flag --retry-for of the commands that go on over a restart of
// the daemon.
type retry struct {
	limit time.Duration
	given bool
}

func (r *retry) register(c *cobra.Command) {
	c.Flags().DurationVar(&r.limit, "retry-for", 30*time.Second,
		"how long to go on trying while the server cannot be reached, `DURATION`; if it is given, also for the first connection")
	c.PreRun = func(c *cobra.Command, _ []string) { r.given = c.Flags().Changed("retry-for") }
}

func (r *retry) options() client.Options {
	if r.limit <= 0 {
		return client.Options{RetryFor: -1}
	}
	return client.Options{RetryFor: r.limit}
}

// withClient connects, lets do work, and leaves.
func (sh *shell) withClient(ctx context.Context, do func(*client.Client) error) error {
	return sh.withPatience(ctx, &retry{}, do)
}

// withPatience is withClient for commands with --retry-for.
func (sh *shell) withPatience(ctx context.Context, r *retry, do func(*client.Client) error) error {
	c, err := sh.dial(ctx, r)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		c.Close(ctx)
	}()
	return do(c)
}

func (sh *shell) dial(ctx context.Context, r *retry) (*client.Client, error) {
	if r.given && r.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, r.limit)
		defer cancel()
		ctx = limited
	}
	c, err := client.Dial(ctx, sh.server, r.options())
	if errors.Is(err, sdk.ErrUnavailable) {
		err = fmt.Errorf("%w\nstart one with engine serve, or name another with --server", err)
	}
	return c, err
}

// lingering returns a context that ends closeLimit later than ctx: time to
// finish what was begun.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(closeLimit, end)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); end() }
}

// completionLimit bounds how long the shell waits for names from the server.
const completionLimit = time.Second

// completeTopics offers the names of topics for the first argument.
func (sh *shell) completeTopics(c *cobra.Command, arguments []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	ctx, cancel := context.WithTimeout(c.Context(), completionLimit)
	defer cancel()
	err := sh.withClient(ctx, func(c *client.Client) (err error) {
		names, err = c.Topics(ctx)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeCursors offers the names of topics, then of the topic's cursors.
func (sh *shell) completeCursors(c *cobra.Command, arguments []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(arguments) != 1 {
		return sh.completeTopics(c, arguments, word)
	}
	var names []string
	ctx, cancel := context.WithTimeout(c.Context(), completionLimit)
	defer cancel()
	err := sh.withClient(ctx, func(c *client.Client) error {
		cursors, err := c.Cursors(ctx, arguments[0])
		for _, cursor := range cursors {
			names = append(names, cursor.GetName())
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
