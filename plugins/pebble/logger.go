package pebble

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
)

// logger passes Pebble's messages on: what it calls information is of interest
// to people who debug it. What it calls fatal ends this opening of the database
// and not the process.
type logger struct {
	to    *slog.Logger
	fatal func(error)
}

func (l logger) Infof(format string, args ...any) {
	l.to.Debug("pebble", "message", fmt.Sprintf(format, args...))
}

func (l logger) Errorf(format string, args ...any) {
	l.to.Warn("pebble", "message", fmt.Sprintf(format, args...))
}

func (l logger) Fatalf(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	l.to.Error("pebble", "message", message)
	l.fatal(errors.New(message))
}

// listener logs what an operator should hear of.
func listener(to *slog.Logger) *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			to.Warn("pebble cannot flush or compact and will try again", "error", err)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			to.Error("damaged file: what was in it cannot be read", "path", info.Path, "error", info.Details)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			to.Warn("writes wait for pebble", "reason", info.Reason)
		},
	}
}
