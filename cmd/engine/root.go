package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// streams is what a command line has to do with the world: tests pass their
// own.
type streams struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
}

// variable returns an environment variable, "" if it is not set.
func (s streams) variable(name string) string {
	for _, entry := range slices.Backward(s.environ) {
		if text, found := strings.CutPrefix(entry, name+"="); found {
			return text
		}
	}
	return ""
}

// shell is what all commands of one run share.
type shell struct {
	streams
	server string // --server
	output string // --output
	// running says that flags and arguments were right and the command itself
	// began: whatever fails before is a usage error.
	running bool
}

// run carries out one command line and returns its exit code.
func run(ctx context.Context, arguments []string, s streams) int {
	sh := &shell{streams: s}
	root := newRoot(sh)
	root.SetArgs(arguments)
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !sh.running {
		err = fmt.Errorf("%w\nsee %s --help", usageError{err}, command.CommandPath())
	}
	if err != nil {
		fmt.Fprintf(s.err, "engine: %v\n%s", err, hint(err))
	}
	return exitCode(err)
}

func newRoot(sh *shell) *cobra.Command {
	root := &cobra.Command{
		Use:   "engine",
		Short: "A storage engine for append-only logs: the daemon and its command line",
		Long: `Tidemark keeps append-only logs: topics, read through durable cursors.

Exit codes: 0 success, 1 failure, 2 usage or bad configuration, 3 not found,
4 unavailable (try again later).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if sh.output != "table" && sh.output != "json" {
				return fmt.Errorf("--output %q is neither table nor json", sh.output)
			}
			sh.running = true
			return nil
		},
	}
	root.SetIn(sh.in)
	root.SetOut(sh.out)
	root.SetErr(sh.err)
	server := sh.variable("TIDEMARK_SERVER")
	if server == "" {
		server = "127.0.0.1:7420"
	}
	flags := root.PersistentFlags()
	flags.StringVar(&sh.server, "server", server, "address of the daemon, `HOST:PORT` (environment: TIDEMARK_SERVER)")
	flags.StringVarP(&sh.output, "output", "o", "table", "form of the answer: `table` or json")
	root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(newServe(sh), newTopic(sh), newProduce(sh), newRead(sh), newCursor(sh), newDump(sh), newConfig(sh), newVersion(sh))
	return root
}

// group is a command that only holds others: alone it shows what they are.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use:   use,
		Short: short,
		Args: func(c *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return fmt.Errorf("%s has no command %q", c.CommandPath(), arguments[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			c.Help()
			return usageError{errors.New("which of them?")}
		},
	}
	g.AddCommand(commands...)
	return g
}
