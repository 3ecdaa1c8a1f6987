package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tidemark-engine/tidemark/engine/config"
)

func newServe(sh *shell) *cobra.Command {
	var from sources
	var guide bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Runs the daemon in the foreground until SIGINT or SIGTERM, which stop it in
order and within the limits of the section shutdown. SIGHUP reads the
configuration again and puts into force what can change while running.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return sh.serve(c.Context(), from.given(c, sh), guide)
		},
	}
	from.register(c)
	c.Flags().BoolVar(&guide, "guide", false, "once ready, print the commands to try next")
	return c
}

func (sh *shell) serve(ctx context.Context, from config.Sources, guide bool) error {
	load := func() (*config.Loaded, error) { return config.Load(from) }
	loaded, err := load()
	if err != nil {
		return err
	}
	if file := loaded.Config.Server.ReadyFile; file != "" {
		// One that a killed daemon left would say that this one is ready.
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("ready file: %w", err)
		}
	}
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	d, err := start(ctx, loaded.Config, sh.err)
	if err != nil {
		return err
	}
	if file := d.config.Server.ReadyFile; file != "" {
		if err := writeReadyFile(file, d.door.addresses); err != nil {
			d.stop()
			return err
		}
	}
	d.log.Info("ready", "grpc", d.door.addresses.GRPC, "http", d.door.addresses.HTTP, "store", d.config.Store.Kind, "data", keptIn(d.config))
	if guide {
		fmt.Fprintf(sh.out, guideText, d.door.addresses.GRPC)
	}
	for {
		select {
		case <-hangUp:
			d.reload(load)
		case err := <-d.door.failed:
			d.log.Error("a listener failed, stopping", "error", err)
			d.stop()
			return err
		case <-ctx.Done():
			d.log.Info("stopping")
			if err := d.stop(); err != nil {
				return daemonError{fmt.Errorf("stopped, but not everything ended: %w", err)}
			}
			return nil
		}
	}
}

const guideText = `
Tidemark is ready at %[1]s. In another terminal:

  export PATH=$PWD/bin:$PATH TIDEMARK_SERVER=%[1]s
  engine topic create demo
  seq 1 100000 | engine produce demo
  engine read demo --cursor billing | tail -n 3
  engine topic describe demo
  engine read demo --cursor billing --follow

`

// keptIn says where the entries are, for people.
func keptIn(c config.Config) string {
	if c.Store.Kind == "memory" {
		return "gone with the daemon"
	}
	return c.DataDir
}
