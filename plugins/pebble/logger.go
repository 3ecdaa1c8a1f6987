package pebble

import (
	"fmt"
	"log/slog"
)

// logger passes Pebble's messages on: what it calls information is of interest
// to people who debug it.
type logger struct{ to *slog.Logger }

func (l logger) Infof(format string, args ...any) {
	l.to.Debug("pebble", "message", fmt.Sprintf(format, args...))
}

func (l logger) Errorf(format string, args ...any) {
	l.to.Warn("pebble", "message", fmt.Sprintf(format, args...))
}

func (l logger) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
