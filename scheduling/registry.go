package scheduling

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnknown says that a name stands for nothing. The error that wraps it
// lists the names there are.
var ErrUnknown = errors.New("unknown name")

// Registry is a set of submission strategies by name. It never changes: [With]
// makes another one. It may be used from any goroutine.
//
// [With]: Registry.With
type Registry struct {
	strategies []Strategy // in the order of their names
}

// Builtin returns the strategies that this package has. A new one is one file
// and one line here.
func Builtin() *Registry {
	return &Registry{strategies: []Strategy{
		Direct(),
		OrderedExecutor(),
	}}
}

// With returns a registry that has more strategies as well. A name that is
// empty or taken is an error.
func (r *Registry) With(more ...Strategy) (*Registry, error) {
	all := slices.Clone(r.strategies)
	for _, s := range more {
		name := s.Name()
		if name == "" {
			return nil, errors.New("scheduling: a submission strategy without a name")
		}
		i, taken := slices.BinarySearchFunc(all, name, byName)
		if taken {
			return nil, fmt.Errorf("scheduling: two submission strategies are named %q", name)
		}
		all = slices.Insert(all, i, s)
	}
	return &Registry{strategies: all}, nil
}

// Lookup returns the strategy of that name. [ErrUnknown].
func (r *Registry) Lookup(name string) (Strategy, error) {
	if i, found := slices.BinarySearchFunc(r.strategies, name, byName); found {
		return r.strategies[i], nil
	}
	return nil, fmt.Errorf("submission strategy %q: %w; use one of: %s", name, ErrUnknown, strings.Join(r.Names(), ", "))
}

// Names returns the names of all strategies, sorted.
func (r *Registry) Names() []string {
	var names []string
	for _, s := range r.strategies {
		names = append(names, s.Name())
	}
	return names
}

// All returns all strategies in the order of their names.
func (r *Registry) All() []Strategy { return slices.Clone(r.strategies) }

func byName(s Strategy, name string) int { return strings.Compare(s.Name(), name) }
