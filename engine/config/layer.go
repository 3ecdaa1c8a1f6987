package config

import (
	"fmt"
	"strings"

	"github.com/tidemark-engine/tidemark/engine/spelling"
)

// layer is what one source says: checked values by the path of their key.
type layer struct {
	values  map[string]any
	origins map[string]Origin
}

func newLayer() *layer {
	return &layer{values: map[string]any{}, origins: map[string]Origin{}}
}

func (l *layer) set(k *key, value any, from Origin) {
	l.values[k.path] = value
	l.origins[k.path] = from
}

// environmentLayer checks all variables that begin with [EnvironmentPrefix].
func (o *outline) environmentLayer(environ []string) (*layer, Problems) {
	l := newLayer()
	var problems Problems
	byName := map[string]*key{}
	var names []string
	for _, k := range o.keys {
		byName[k.environment()] = k
		names = append(names, k.environment())
	}
	for _, variable := range environ {
		name, text, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, EnvironmentPrefix) || text == "" || foreign(name) {
			continue
		}
		k, known := byName[name]
		if !known {
			problems = append(problems, Problem{Origin: Origin{Source: name}, Message: unknownVariable(name, names)})
			continue
		}
		value, err := k.parse(text)
		if err != nil {
			problems = append(problems, Problem{Origin: Origin{Source: name}, Key: k.path, Message: err.Error()})
			continue
		}
		l.set(k, value, Origin{Source: name})
	}
	return l, problems
}

func unknownVariable(name string, names []string) string {
	if nearest := spelling.Nearest(name, names); nearest != "" {
		return "no such variable; the nearest is " + nearest
	}
	return "no such variable; there is one for each key, as TIDEMARK_LOG_LEVEL for log.level"
}

// foreign tells the variables that begin like ours and are not configuration:
// those of the command line and of the tests, and those that Kubernetes sets in
// every container when a service is called tidemark.
func foreign(name string) bool {
	switch rest := strings.TrimPrefix(name, EnvironmentPrefix); rest {
	case "SERVER", "CONFIG", "SEED", "ROUNDS", "PORT":
		return true
	default:
		return strings.HasPrefix(rest, "PORT_") || strings.HasPrefix(rest, "SERVICE_")
	}
}

// Flag is a flag that was given on the command line.
type Flag struct {
	// Name is the flag as it was given, for messages: --grpc, --set.
	Name string
	// Key is the path of the key it sets, and Text the value.
	Key, Text string
	// Malformed says that the flag is no KEY=VALUE: then Key is all there is.
	Malformed bool
}

// flagLayer checks the flags; of several for one key the last counts.
func (o *outline) flagLayer(flags []Flag) (*layer, Problems) {
	l := newLayer()
	var problems Problems
	for _, f := range flags {
		origin := Origin{Source: f.Name}
		k, known := o.byPath[f.Key]
		switch {
		case f.Malformed:
			problems = append(problems, Problem{origin, f.Key, "is not KEY=VALUE, as in log.level=debug"})
			continue
		case o.isSection(f.Key):
			problems = append(problems, Problem{origin, f.Key, fmt.Sprintf("is a section; name a key of it, as in %s.KEY=VALUE", f.Key)})
			continue
		case !known:
			problems = append(problems, Problem{origin, f.Key, o.unknown(f.Key)})
			continue
		}
		value, err := k.parse(f.Text)
		if err != nil {
			problems = append(problems, Problem{origin, f.Key, err.Error()})
			continue
		}
		l.set(k, value, origin)
	}
	return l, problems
}
