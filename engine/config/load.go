package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/tidemark-engine/tidemark/engine/quantity"
)

// Sources are where a configuration comes from. The zero value gives the
// defaults.
type Sources struct {
	// Files are the paths of configuration files; a later one wins.
	Files []string
	// Environ is the environment in the form of os.Environ.
	Environ []string
	// Flags are the flags that were given; a later one wins.
	Flags []Flag
	// Choices are the names that a key may have and that only the program
	// knows, by the path of the key: topics.read-policy.
	Choices map[string][]string
}

// Loaded is a valid configuration and where each of its values comes from.
type Loaded struct {
	Config  Config
	outline *outline
	origins map[string]Origin
}

// Load reads all sources, and either returns a valid configuration or all that
// is wrong, as [Problems] ([ErrInvalid]). It changes nothing: a reload loads
// again, so a key that was removed from a file is back at its default.
func Load(s Sources) (*Loaded, error) {
	l := &Loaded{Config: Default(), outline: outlineOf(reflect.TypeFor[Config](), s.Choices), origins: map[string]Origin{}}
	var problems Problems
	var layers []*layer
	add := func(next *layer, more Problems) {
		layers = append(layers, next)
		more.sort()
		problems = append(problems, more...)
	}
	for _, path := range s.Files {
		text, err := readFile(path)
		if err != nil {
			problems = append(problems, Problem{Origin: Origin{Source: path}, Message: err.Error()})
			continue
		}
		add(l.outline.fileLayer(path, text))
	}
	add(l.outline.environmentLayer(s.Environ))
	add(l.outline.flagLayer(s.Flags))
	if len(problems) > 0 {
		return nil, problems
	}
	if err := l.merge(layers); err != nil {
		return nil, err
	}
	if problems = l.checkTogether(); len(problems) > 0 {
		problems.sort()
		return nil, problems
	}
	return l, nil
}

// merge puts the layers over the defaults. The values are checked and of the
// right types already, so the decoder is told to bend nothing.
func (l *Loaded) merge(layers []*layer) error {
	merged := koanf.New(".")
	for _, layer := range layers {
		if err := merged.Load(confmap.Provider(layer.values, "."), nil); err != nil {
			return fmt.Errorf("merge configuration: %w", err)
		}
		for path, origin := range layer.origins {
			l.origins[path] = origin
		}
	}
	err := merged.UnmarshalWithConf("", &l.Config, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		TagName: "key", Result: &l.Config, ErrorUnused: true,
	}})
	if err != nil {
		return fmt.Errorf("decode configuration: %w", err)
	}
	return nil
}

// origin says where the value of a key comes from.
func (l *Loaded) origin(path string) Origin {
	if origin, found := l.origins[path]; found {
		return origin
	}
	return Origin{Source: "default"}
}

// checkTogether reports values that are right by themselves and wrong beside
// each other.
func (l *Loaded) checkTogether() Problems {
	var problems Problems
	problem := func(path, format string, values ...any) {
		problems = append(problems, Problem{l.origin(path), path, fmt.Sprintf(format, values...)})
	}
	c := &l.Config
	if c.Topics.MaxLedgerAge > 0 && c.Topics.MinLedgerAge >= c.Topics.MaxLedgerAge {
		problem("topics.min-ledger-age", "%s must be below topics.max-ledger-age, which is %s",
			quantity.FormatDuration(c.Topics.MinLedgerAge), quantity.FormatDuration(c.Topics.MaxLedgerAge))
	}
	if least := c.Topics.MaxEntrySize + frameOverhead; c.Server.MaxMessageSize < least {
		problem("server.max-message-size", "%s must be at least %s: topics.max-entry-size and 64KiB around it",
			format(c.Server.MaxMessageSize), format(least))
	}
	if c.Server.FrameSize+frameOverhead > c.Server.MaxMessageSize {
		problem("server.frame-size", "%s must be 64KiB below server.max-message-size, which is %s", format(c.Server.FrameSize), format(c.Server.MaxMessageSize))
	}
	if most := c.Store.MemtableSize / MemtableShare; c.Store.Kind == "pebble" && c.Topics.MaxEntrySize > most {
		problem("topics.max-entry-size", "%s must be at most a quarter of store.memtable-size: %s", format(c.Topics.MaxEntrySize), format(most))
	}
	if c.Server.HTTPAddress != "" && c.Server.HTTPAddress == c.Server.GRPCAddress && !strings.HasSuffix(c.Server.HTTPAddress, ":0") {
		problem("server.http-address", "%s is also server.grpc-address", c.Server.HTTPAddress)
	}
	seen := map[string]string{}
	for _, k := range l.outline.keys {
		if path := l.realPath(k); path != "" {
			if other, twice := seen[path]; twice {
				problem(k.path, "is the same place as %s: %s", other, path)
			}
			seen[path] = k.path
		}
	}
	return problems
}

// MemtableShare is how many of the largest entries a memory table of the pebble
// store must be able to hold.
const MemtableShare = 4

// frameOverhead is what surrounds an entry in a message, at most.
const frameOverhead = 64 << 10

// realPath is where a path key leads to, symbolic links followed as far as the
// path exists; "" for other keys and empty ones.
func (l *Loaded) realPath(k *key) string {
	isPath := false
	for _, check := range k.checks {
		isPath = isPath || check == "directory" || check == "file"
	}
	text, _ := k.value(reflect.ValueOf(l.Config)).(string)
	if !isPath || text == "" {
		return ""
	}
	path, err := filepath.Abs(text)
	if err != nil {
		return text
	}
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		} else if !os.IsNotExist(err) || filepath.Dir(path) == path {
			return filepath.Join(path, rest)
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = filepath.Dir(path)
	}
}
