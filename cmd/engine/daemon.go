package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/config"
)

// daemon is a running Tidemark: the parts of the graph and how they end.
type daemon struct {
	config     config.Config // in force; only reload changes it
	log        *slog.Logger
	level      *slog.LevelVar
	belongings *belongings
	engine     *engine.Engine
	door       *door
}

// start opens everything and returns a daemon that serves. If anything fails,
// or ctx ends, all that was opened is closed again. more are further parts of
// the graph, for tests.
func start(ctx context.Context, c config.Config, logTo io.Writer, more ...fx.Option) (*daemon, error) {
	d := &daemon{config: c}
	d.log, d.level = newLog(c.Log, logTo)
	d.belongings = &belongings{log: d.log}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Server.StartTimeout,
		fmt.Errorf("the start took longer than server.start-timeout, %s", c.Server.StartTimeout))
	defer cancel()
	if err := d.build(ctx, more); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, daemonError{errors.Join(fmt.Errorf("start: %w", err), d.belongings.close())}
	}
	return d, nil
}

// build makes the graph and starts it, both off this goroutine, because a store
// that recovers does not look at a context.
func (d *daemon) build(ctx context.Context, more []fx.Option) error {
	built := make(chan error, 1) // has room: nobody may be waiting any more
	go func() {
		app := fx.New(graph(d), fx.Options(more...))
		err := app.Err()
		if err == nil {
			err = app.Start(ctx)
		}
		built <- dig.RootCause(err)
	}()
	select {
	case err := <-built:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop ends the daemon and reports what did not end as it should.
func (d *daemon) stop() error { return d.belongings.close() }

// reload puts a newly loaded configuration into force as far as that is
// possible while running, and says what waits for a restart.
func (d *daemon) reload(load func() (*config.Loaded, error)) {
	loaded, err := load()
	if err != nil {
		d.log.Error("reload refused, the configuration stays as it is", "error", err)
		return
	}
	next, changes := config.Reload(d.config, loaded.Config)
	if err := d.engine.Configure(engineConfig(next, d.log)); err != nil {
		d.log.Error("reload refused, the configuration stays as it is", "error", err)
		return
	}
	setLevel(d.level, next.Log.Level)
	d.config = next
	for _, change := range changes {
		if change.Live {
			d.log.Info("changed", "key", change.Key, "from", change.From, "to", change.To)
		} else {
			d.log.Warn("a change waits for a restart", "key", change.Key, "from", change.From, "to", change.To)
		}
	}
	d.log.Info("reloaded", "changes", len(changes))
}
