package main

import (
	"context"
	"errors"

	"github.com/tidemark-engine/tidemark/engine/config"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// The exit codes, as the package comment documents them.
const (
	exitSuccess     = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitUnavailable = 4
)

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// daemonError is a daemon that did not come up, or not down in order. It is a
// failure whatever the cause: 4 would say that a daemon is there.
type daemonError struct{ error }

func (e daemonError) Unwrap() error { return e.error }

// hint is a line with the commands that help after an error, "" if there are
// none.
func hint(err error) string {
	switch {
	case errors.Is(err, reason.ErrTopicNotFound):
		return "engine topic list shows all topics, engine topic create TOPIC makes one\n"
	case errors.Is(err, reason.ErrTopicExists):
		return "engine topic set TOPIC KEY=VALUE changes settings of a topic\n"
	case errors.Is(err, reason.ErrCursorNotFound):
		return "engine cursor list TOPIC shows all cursors\n"
	}
	return ""
}

// exitCode sorts an error into the documented codes.
func exitCode(err error) int {
	is := func(sentinels ...error) bool {
		for _, sentinel := range sentinels {
			if errors.Is(err, sentinel) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return exitSuccess
	case errors.As(err, new(daemonError)):
		return exitFailure
	case errors.As(err, new(usageError)), is(config.ErrInvalid, sdk.ErrInvalid):
		return exitUsage
	case is(reason.ErrTopicNotFound, reason.ErrCursorNotFound):
		return exitNotFound
	case is(sdk.ErrUnavailable, sdk.ErrBusy, reason.ErrOwnerLost, context.DeadlineExceeded):
		return exitUnavailable
	}
	return exitFailure
}
