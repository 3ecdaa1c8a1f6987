package engine_test

import (
	"log/slog"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
)

func TestModule(t *testing.T) {
	s := memory.Open()
	var e *engine.Engine
	app := fxtest.New(t,
		fx.Supply(engine.DefaultConfig(), slog.New(slog.DiscardHandler)),
		fx.Supply(fx.Annotate(s, fx.As(new(sdk.LedgerStore)), fx.As(new(sdk.Plugin)))),
		fx.Supply(fx.Annotate(s.Metadata(), fx.As(new(sdk.MetadataStore)))),
		engine.Module(),
		fx.Populate(&e),
	)
	app.RequireStart()
	if _, err := e.CreateTopic(t.Context(), "orders", engine.TopicOptions{}); err != nil {
		t.Error(err)
	}
	app.RequireStop()
	_, err := e.Topic(t.Context(), "orders")
	isAll(t, "after the stop", err, sdk.ErrClosed)
}
