package config

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
)

// exampleWidth is the column at which comments of the example file wrap.
const exampleWidth = 100

// Example returns a configuration file in YAML with every key, what it means
// and its default, commented out: it changes nothing until a line is
// uncommented.
func Example() []byte {
	o := outlineOf(reflect.TypeFor[Config](), nil)
	var out bytes.Buffer
	out.WriteString(`# All settings of a Tidemark daemon with their defaults. Uncomment what you change.
# Check the result with: engine config check FILE
# Sizes and durations need their unit: 64MiB, 90s, 7d. A later source wins: defaults, files, environment, flags.
# "live" settings change with a reload (SIGHUP); the others with a restart.
`)
	defaults := reflect.ValueOf(Default())
	in := ""
	for _, k := range o.keys {
		parent, name := cutLast(k.path)
		if parent != in {
			in = parent
			writeSection(&out, o, parent)
		}
		k.writeExample(&out, name, strings.Repeat("  ", strings.Count(k.path, ".")), format(k.value(defaults)))
	}
	return out.Bytes()
}

func cutLast(path string) (parent, name string) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

func writeSection(out *bytes.Buffer, o *outline, path string) {
	for _, s := range o.sections {
		if s.path == path {
			_, name := cutLast(path)
			indent := strings.Repeat("  ", strings.Count(path, "."))
			out.WriteString("\n")
			writeComment(out, indent, s.doc)
			fmt.Fprintf(out, "%s%s:\n", indent, name)
		}
	}
}

func (k *key) writeExample(out *bytes.Buffer, name, indent, standard string) {
	notes := []string{k.doc}
	if len(k.choices) > 0 {
		notes = append(notes, "One of: "+strings.Join(k.choices, ", ")+".")
	}
	if k.min != "" && !k.unlimited() || k.max != "" {
		notes = append(notes, k.limits())
	}
	if k.live {
		notes = append(notes, "(live)")
	}
	out.WriteString("\n")
	writeComment(out, indent, strings.Join(notes, " "))
	if k.kind == kindText || k.kind == kindSecret {
		standard = fmt.Sprintf("%q", standard)
	}
	fmt.Fprintf(out, "%s#%s: %s\n", indent, name, standard)
}

// limits says what values a key takes.
func (k *key) limits() string {
	switch {
	case k.max == "":
		return "At least " + k.min + "."
	case k.min == "" || k.unlimited():
		return "At most " + k.max + "."
	}
	return "From " + k.min + " to " + k.max + "."
}

// writeComment writes text as comment lines.
func writeComment(out *bytes.Buffer, indent, text string) {
	line := indent + "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > exampleWidth {
			out.WriteString(line + "\n")
			line = indent + "#"
		}
		line += " " + word
	}
	out.WriteString(line + "\n")
}
