package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/tidemark-engine/tidemark/engine/config"
)

// newLog makes the daemon's log. The level can be changed while it runs.
func newLog(c config.Log, out io.Writer) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	setLevel(level, c.Level)
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options)), level
	}
	options.ReplaceAttr = plainError
	return slog.New(slog.NewTextHandler(out, options)), level
}

// plainError makes of an error its message. The text handler would print it
// with %+v, which for those of some libraries is a stack trace.
func plainError(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(err.Error())
	}
	return a
}

// setLevel puts a name from the configuration, which is valid, into force.
func setLevel(level *slog.LevelVar, name string) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(name)); err != nil {
		panic(fmt.Sprintf("log level %q was checked by the configuration: %v", name, err))
	}
	level.Set(l)
}
