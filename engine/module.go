package engine

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Module gives an fx graph an *Engine: made of the stores, the plugin, a Config
// and a *slog.Logger that the graph has, opened when the graph is built and
// closed when it stops, within the stop's context. [Open] does the same without
// fx.
func Module() fx.Option {
	return fx.Module("engine", fx.Provide(provide))
}

func provide(life fx.Lifecycle, ledgers sdk.LedgerStore, metadata sdk.MetadataStore, plugin sdk.Plugin, config Config, log *slog.Logger) (*Engine, error) {
	e, err := Open(context.Background(), Settings{Ledgers: ledgers, Metadata: metadata, Plugin: plugin, Log: log}, config)
	if err != nil {
		return nil, err
	}
	life.Append(fx.Hook{OnStop: e.Close})
	return e, nil
}
