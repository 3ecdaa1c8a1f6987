// Command bench measures what Tidemark promises about speed, as ratios inside
// one run, and prints them as a table and as JSON.
//
// Every figure is the median of several rounds; all variants run once in each
// round, in rotating order, so that a machine whose speed drifts does not
// favour one of them. A row that is divided by another is divided round by
// round. Durable rows run a second time with 2 ms added to every sync, because
// a fast disk hides most of what group commit is for.
//
//	go run ./conformance/bench -rounds 5 -seconds 1 -out bench.json
//	go run ./conformance/bench -only 'add/.*/128B'
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	rounds := flag.Int("rounds", 5, "rounds; the median is reported")
	seconds := flag.Float64("seconds", 1, "seconds that one timed cell runs")
	only := flag.String("only", "", "run only the rows whose name matches this expression, and what they are divided by")
	out := flag.String("out", "", "also write the table as JSON to this file")
	dir := flag.String("dir", "", "directory for the files of the durable rows; default a new temporary one")
	backlog := flag.Int("backlog", 5_000_000, "entries that the catch-up reader is behind")
	flag.Parse()

	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	rows := choose(catalogue(), wanted)
	if len(rows) == 0 {
		return fmt.Errorf("-only %q matches no row; run without it to see all names", *only)
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds %d: at least one is needed", *rounds)
	}
	scratch, err := os.MkdirTemp(*dir, "tidemark-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	e := env{dir: scratch, cell: time.Duration(*seconds * float64(time.Second)), backlog: *backlog}
	t := newTable(rows)
	if err := t.measure(ctx, e, *rounds, os.Stderr); err != nil {
		return err
	}
	t.print(os.Stdout)
	if *out != "" {
		return t.writeJSON(*out)
	}
	return nil
}

// env is what a row may use while it runs.
type env struct {
	dir     string
	cell    time.Duration
	backlog int
}

// scratch makes a directory that lives for one cell.
func (e env) scratch() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(e.dir, "cell-")
	return dir, func() { os.RemoveAll(dir) }, err
}

// catalogue lists all rows in the order of the table.
func catalogue() []row {
	var rows []row
	rows = append(rows, appendRows()...)
	rows = append(rows, allocationRows()...)
	rows = append(rows, laneRows()...)
	rows = append(rows, tailRows()...)
	rows = append(rows, catchUpRows()...)
	rows = append(rows, submissionRows()...)
	rows = append(rows, produceRows()...)
	return rows
}

// choose keeps the rows whose name matches, and the rows that they are divided
// by.
func choose(rows []row, wanted *regexp.Regexp) []row {
	keep := map[string]bool{}
	for _, r := range rows {
		if wanted.MatchString(r.name) {
			keep[r.name] = true
			keep[r.base] = true
		}
	}
	var chosen []row
	for _, r := range rows {
		if keep[r.name] {
			chosen = append(chosen, r)
		}
	}
	return chosen
}
