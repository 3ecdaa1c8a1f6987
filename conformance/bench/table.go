package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"
)

// row is one line of the table.
type row struct {
	name string
	unit string
	// base is the name of the row that this one is divided by, or empty.
	base string
	// aim is what the ratio, or without a base the value, should reach; 0 means
	// none is set. lower says that less is better.
	aim   float64
	lower bool
	// once limits a long row to its first round.
	once bool
	// run measures once.
	run func(ctx context.Context, e env) (float64, error)
}

// table holds the rows and what each round gave.
type table struct {
	rows   []row
	values map[string][]float64
}

func newTable(rows []row) *table {
	return &table{rows: rows, values: map[string][]float64{}}
}

// measure runs all rows once a round, beginning each round with another row.
func (t *table) measure(ctx context.Context, e env, rounds int, progress io.Writer) error {
	for round := range rounds {
		for i := range t.rows {
			r := t.rows[(i+round)%len(t.rows)]
			if r.once && round > 0 {
				continue
			}
			runtime.GC()
			debug.FreeOSMemory()
			began := time.Now()
			value, err := r.run(ctx, e)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", r.name, round+1, err)
			}
			t.values[r.name] = append(t.values[r.name], value)
			fmt.Fprintf(progress, "round %d/%d  %-52s %14.1f %s  (%.1fs)\n", round+1, rounds, r.name, value, r.unit, time.Since(began).Seconds())
		}
	}
	return ctx.Err()
}

// line is a row with its figures, as it stands in the JSON file.
type line struct {
	Name      string  `json:"name"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit"`
	DividedBy string  `json:"dividedBy,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"`
	RatioMin  float64 `json:"ratioMin,omitempty"`
	RatioMax  float64 `json:"ratioMax,omitempty"`
	ValueMin  float64 `json:"valueMin"`
	ValueMax  float64 `json:"valueMax"`
	Aim       float64 `json:"aim,omitempty"`
	AimMet    *bool   `json:"aimMet,omitempty"`
	Rounds    int     `json:"rounds"`
}

func (t *table) lines() []line {
	var lines []line
	for _, r := range t.rows {
		values := t.values[r.name]
		l := line{
			Name: r.name, Unit: r.unit, Value: median(values), Rounds: len(values),
			ValueMin: slices.Min(values), ValueMax: slices.Max(values), DividedBy: r.base, Aim: r.aim,
		}
		judged := l.Value
		if base := t.values[r.base]; r.base != "" {
			ratios := make([]float64, min(len(values), len(base)))
			for i := range ratios {
				ratios[i] = values[i] / base[i]
			}
			l.Ratio, l.RatioMin, l.RatioMax = median(ratios), slices.Min(ratios), slices.Max(ratios)
			judged = l.Ratio
		}
		if r.aim != 0 {
			met := judged >= r.aim
			if r.lower {
				met = judged <= r.aim
			}
			l.AimMet = &met
		}
		lines = append(lines, l)
	}
	return lines
}

func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "name\tmedian\tmin\tmax\tunit\tdivided by\tratio\tratio min\tratio max\taim\tmet")
	for _, l := range t.lines() {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t", l.Name, figure(l.Value), figure(l.ValueMin), figure(l.ValueMax), l.Unit)
		if l.DividedBy == "" {
			fmt.Fprint(out, "-\t\t\t\t")
		} else {
			fmt.Fprintf(out, "%s\t%.2f\t%.2f\t%.2f\t", l.DividedBy, l.Ratio, l.RatioMin, l.RatioMax)
		}
		if l.AimMet == nil {
			fmt.Fprintln(out, "\t")
		} else {
			fmt.Fprintf(out, "%s\t%t\n", figure(l.Aim), *l.AimMet)
		}
	}
	out.Flush()
}

func (t *table) writeJSON(path string) error {
	data, err := json.MarshalIndent(struct {
		Go    string `json:"go"`
		Cores int    `json:"cores"`
		Rows  []line `json:"rows"`
	}{runtime.Version(), runtime.GOMAXPROCS(0), t.lines()}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

func figure(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}
