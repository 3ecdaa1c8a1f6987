package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// answer writes v as JSON, or as the table that the second argument makes.
func (sh *shell) answer(v any, asTable func(t *table)) error {
	if sh.output == "json" {
		encoder := json.NewEncoder(sh.out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	t := &table{tabwriter.NewWriter(sh.out, 0, 0, 2, ' ', 0)}
	asTable(t)
	return t.Flush()
}

// table writes rows for people.
type table struct{ *tabwriter.Writer }

func (t *table) row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			io.WriteString(t, "\t")
		}
		fmt.Fprint(t, cell)
	}
	io.WriteString(t, "\n")
}

// head begins a table with the names of its columns.
func (t *table) head(names ...string) {
	cells := make([]any, len(names))
	for i, name := range names {
		cells[i] = strings.ToUpper(name)
	}
	t.row(cells...)
}

// writeJSONLine writes v as one line of JSON.
func writeJSONLine(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
