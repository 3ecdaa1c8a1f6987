package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid says that the configuration is not valid; the error is a
// [Problems] that lists what is wrong.
var ErrInvalid = errors.New("configuration is not valid")

// Origin says where a value comes from: the defaults, a file and line, an
// environment variable or a flag.
type Origin struct {
	// Source is "default", the path of a file, the name of a variable, or the
	// flag as it was given.
	Source string
	// Line is the line in a file, from 1; 0 if it is not known.
	Line int
}

// String returns tidemark.yaml:12, TIDEMARK_LOG_LEVEL or --grpc.
func (o Origin) String() string {
	if o.Line > 0 {
		return fmt.Sprintf("%s:%d", o.Source, o.Line)
	}
	return o.Source
}

// Problem is one thing that is wrong.
type Problem struct {
	Origin Origin
	// Key is the key as it was written; empty if the problem is not with one.
	Key     string
	Message string
}

// Problems is everything that is wrong. It is an [ErrInvalid].
type Problems []Problem

// sort orders the problems of one layer as people look for them: by file and
// line, or by variable or flag, then by key.
func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.Source, b.Origin.Source), cmp.Compare(a.Origin.Line, b.Origin.Line), cmp.Compare(a.Key, b.Key))
	})
}

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Origin.String() + ": "
		if problem.Key != "" {
			lines[i] += problem.Key + ": "
		}
		lines[i] += problem.Message
	}
	return strings.Join(lines, "\n")
}

// Is makes errors.Is(err, ErrInvalid) true.
func (p Problems) Is(target error) bool { return target == ErrInvalid }
