package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/json"
	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/v2"

	"github.com/tidemark-engine/tidemark/engine/spelling"
)

// maxFileBytes bounds a configuration file: whatever is larger is none.
const maxFileBytes = 1 << 20

// readFile reads a whole file, if it is not too large for a configuration.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err) // the problem names the path already
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("larger than 1 MiB, which no configuration is")
	}
	return text, err
}

// parserOf picks the parser by the name of the file.
func parserOf(path string) (koanf.Parser, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return yaml.Parser(), nil
	case ".toml":
		return toml.Parser(), nil
	case ".json":
		return json.Parser(), nil
	}
	return nil, errors.New("the name must end in .yaml, .toml or .json")
}

// fileLayer checks the text of one file.
func (o *outline) fileLayer(path string, text []byte) (*layer, Problems) {
	l := newLayer()
	parser, err := parserOf(path)
	if err != nil {
		return l, Problems{{Origin: Origin{Source: path}, Message: err.Error()}}
	}
	raw, err := parser.Unmarshal(text)
	if err != nil {
		return l, Problems{{Origin: Origin{Source: path}, Message: "cannot be read: " + oneLine(err)}}
	}
	lines, twice := linesOf(path, text)
	w := &fileWalk{outline: o, layer: l, path: path, lines: lines}
	for _, repeated := range twice {
		w.problem(repeated, "is there twice")
	}
	w.walk(raw, "")
	return l, w.problems
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// fileWalk goes through one parsed file and sorts what it finds into a layer
// and problems.
type fileWalk struct {
	outline  *outline
	layer    *layer
	path     string
	lines    map[string]int
	problems Problems
}

func (w *fileWalk) walk(values map[string]any, prefix string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		w.visit(prefix+name, name, values[name])
	}
}

func (w *fileWalk) visit(path, name string, raw any) {
	inner, isMap := raw.(map[string]any)
	k := w.outline.byPath[path]
	switch {
	case strings.Contains(name, "."):
		w.problem(path, fmt.Sprintf("%q has dots; write sections, one inside the other", name))
	case w.outline.isSection(path) && raw == nil:
	case w.outline.isSection(path) && isMap:
		w.walk(inner, path+".")
	case w.outline.isSection(path):
		w.problem(path, "is a section: its keys stand below it, indented")
	case k == nil:
		w.problem(path, w.outline.unknown(path))
	case isMap:
		w.problem(path, "is a single value, not a section")
	default:
		value, err := k.convert(raw)
		if err != nil {
			w.problem(path, err.Error())
			return
		}
		w.layer.set(k, value, w.origin(path))
	}
}

func (w *fileWalk) origin(path string) Origin { return Origin{Source: w.path, Line: w.lines[path]} }

func (w *fileWalk) problem(path, message string) {
	w.problems = append(w.problems, Problem{Origin: w.origin(path), Key: path, Message: message})
}

// unknown is the message for a key that does not exist.
func (o *outline) unknown(path string) string {
	if nearest := spelling.Nearest(path, o.names()); nearest != "" {
		return "no such key; the nearest is " + nearest
	}
	return "no such key; engine config example lists all"
}
