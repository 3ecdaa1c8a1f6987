package readpolicies

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnknown says that a name stands for no policy. The error that wraps it
// lists the names there are.
var ErrUnknown = errors.New("unknown name")

// Registry is a set of policies by name. It never changes: [Registry.With]
// makes another one. It may be used from any goroutine.
type Registry struct {
	policies []Policy // in the order of their names
}

// Builtin returns the policies that this package has. A new one is one file and
// one line here.
func Builtin() *Registry {
	return &Registry{policies: []Policy{
		CompleteAtLAC(),
		ExtendOnExecutor(),
	}}
}

// With returns a registry that has more policies as well. A name that is empty
// or taken is an error.
func (r *Registry) With(more ...Policy) (*Registry, error) {
	all := slices.Clone(r.policies)
	for _, p := range more {
		name := p.Name()
		if name == "" {
			return nil, errors.New("readpolicies: a read policy without a name")
		}
		i, taken := slices.BinarySearchFunc(all, name, byName)
		if taken {
			return nil, fmt.Errorf("readpolicies: two read policies are named %q", name)
		}
		all = slices.Insert(all, i, p)
	}
	return &Registry{policies: all}, nil
}

// Lookup returns the policy of that name. [ErrUnknown].
func (r *Registry) Lookup(name string) (Policy, error) {
	if i, found := slices.BinarySearchFunc(r.policies, name, byName); found {
		return r.policies[i], nil
	}
	return nil, fmt.Errorf("read policy %q: %w; use one of: %s", name, ErrUnknown, strings.Join(r.Names(), ", "))
}

// Names returns the names of all policies, sorted.
func (r *Registry) Names() []string {
	var names []string
	for _, p := range r.policies {
		names = append(names, p.Name())
	}
	return names
}

// All returns all policies in the order of their names.
func (r *Registry) All() []Policy { return slices.Clone(r.policies) }

func byName(p Policy, name string) int { return strings.Compare(p.Name(), name) }
