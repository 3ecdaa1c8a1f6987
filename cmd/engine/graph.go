package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"go.uber.org/fx"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/config"
	"github.com/tidemark-engine/tidemark/engine/server"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
)

// graph is the one graph of the daemon: store, engine, server, listeners, in
// the order in which they open.
func graph(d *daemon) fx.Option {
	c := d.config
	return fx.Options(
		fx.NopLogger,
		fx.Supply(c, engineConfig(c, d.log), serverOptions(c, d.log)),
		fx.Supply(d.log),
		d.part("store", c.Shutdown.Store, fx.Provide(openStore)),
		d.part("engine", c.Shutdown.Engine, engine.Module()),
		d.part("server", c.Shutdown.Streams, fx.Provide(openServer)),
		d.part("listeners", time.Second, fx.Provide(func(life fx.Lifecycle, s *server.Server) *door { return newDoor(life, s, d) })),
		fx.Populate(&d.engine, &d.door),
	)
}

// part is a module whose OnStop hooks go to the daemon's belongings, under this
// name and with this limit.
func (d *daemon) part(name string, limit time.Duration, options ...fx.Option) fx.Option {
	keep := fx.Decorate(func(life fx.Lifecycle) fx.Lifecycle {
		return lifecycle{Lifecycle: life, belongings: d.belongings, name: name, limit: limit}
	})
	return fx.Module(name, append(options, keep)...)
}

// stores is what a store of any kind gives the graph.
type stores struct {
	fx.Out
	Ledgers  sdk.LedgerStore
	Metadata sdk.MetadataStore
	Plugin   sdk.Plugin
}

func openStore(life fx.Lifecycle, c config.Config, log *slog.Logger) (stores, error) {
	if c.Store.Kind == "memory" {
		s := memory.Open()
		life.Append(fx.Hook{OnStop: s.Close})
		return stores{Ledgers: s, Metadata: s.Metadata(), Plugin: s}, nil
	}
	if err := os.MkdirAll(c.DataDir, 0o750); err != nil {
		return stores{}, fmt.Errorf("data directory: %w", err)
	}
	s, err := pebble.Open(c.DataDir, pebbleOptions(c, log))
	if err != nil {
		return stores{}, err
	}
	life.Append(fx.Hook{OnStop: s.Close})
	return stores{Ledgers: s, Metadata: s.Metadata(), Plugin: s}, nil
}

func openServer(life fx.Lifecycle, e *engine.Engine, o server.Options) (*server.Server, error) {
	s, err := server.New(e, o)
	if err != nil {
		return nil, err
	}
	life.Append(fx.Hook{OnStop: s.Close})
	return s, nil
}

// door is where the daemon can be reached: its listeners.
type door struct {
	addresses addresses
	// failed gets the error of a listener that ended by itself.
	failed chan error
}

// newDoor opens the listeners at the start of the graph, and takes the ready
// file away first of all when the daemon stops. The server closes the
// listeners.
func newDoor(life fx.Lifecycle, s *server.Server, d *daemon) *door {
	front := &door{failed: make(chan error, 2)}
	life.Append(fx.Hook{
		OnStart: func(context.Context) error { return front.open(s, d.config.Server) },
		OnStop: func(context.Context) error {
			if d.config.Server.ReadyFile == "" {
				return nil
			}
			return removeReadyFile(d.config.Server.ReadyFile)
		},
	})
	return front
}

// open listens at both addresses before it serves at either, so that a port
// that is taken is heard of now.
func (f *door) open(s *server.Server, c config.Server) error {
	grpc, err := listen(c.GRPCAddress, "server.grpc-address")
	if err != nil {
		return err
	}
	f.addresses = addresses{GRPC: grpc.Addr().String(), PID: os.Getpid()}
	if c.HTTPAddress != "" {
		http, err := listen(c.HTTPAddress, "server.http-address")
		if err != nil {
			return errors.Join(err, grpc.Close())
		}
		f.addresses.HTTP = http.Addr().String()
		go f.serve(s.ServeHTTP, http) // ends when the server closes
	}
	go f.serve(s.ServeGRPC, grpc) // ends when the server closes
	return nil
}

func (f *door) serve(serve func(net.Listener) error, l net.Listener) {
	if err := serve(l); err != nil {
		f.failed <- err // has room for both
	}
}

func listen(address, key string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; is another daemon running there? port 0 picks a free one", key, address, err)
	}
	return l, nil
}
