package main

import (
	"fmt"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// named checks the number of arguments and that the first n of them, which are
// names of topics and cursors, can be sent at all. What else a name must be the
// server says.
func named(n int, count cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, arguments []string) error {
		if err := count(c, arguments); err != nil {
			return fmt.Errorf("%w: %s", err, c.UseLine())
		}
		return checkNames(arguments[:min(n, len(arguments))]...)
	}
}

func checkNames(names ...string) error {
	for _, name := range names {
		if !utf8.ValidString(name) {
			return usageError{fmt.Errorf("the name %q is not UTF-8", name)}
		}
	}
	return nil
}
