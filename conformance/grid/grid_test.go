package grid

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
)

func TestMain(m *testing.M) {
	// ants starts two goroutines when it is imported.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

func TestMemory(t *testing.T) {
	store := memory.Open()
	defer store.Close(context.Background())
	Run(t, Store{"memory", store, store.Metadata(), store.Info()}, readpolicies.Builtin(), scheduling.Builtin())
}

func TestPebble(t *testing.T) {
	store, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.Background())
	Run(t, Store{"pebble", store, store.Metadata(), store.Info()}, readpolicies.Builtin(), scheduling.Builtin())
}
