package server

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
)

// moody is a plugin that can be made ill.
type moody struct {
	sdk.Plugin
	ill atomic.Bool
}

func (m *moody) Health(ctx context.Context) error {
	if m.ill.Load() {
		return errors.New("the disk is on fire")
	}
	return m.Plugin.Health(ctx)
}

// The health of the store shows in readiness and to those who watch; liveness
// is not tied to it.
func TestHealthFollowsTheStore(t *testing.T) {
	store := memory.Open()
	plugin := &moody{Plugin: store}
	e, err := engine.Open(context.Background(), engine.Settings{Ledgers: store, Metadata: store.Metadata(), Plugin: plugin}, engine.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(e, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx := context.Background()
		if err := errors.Join(s.Close(ctx), e.Close(ctx), store.Close(ctx)); err != nil {
			t.Error(err)
		}
	}()
	healthy := true
	for _, ill := range []bool{false, true, true, false} {
		plugin.ill.Store(ill)
		if healthy = s.tellHealth(healthy); healthy == ill {
			t.Errorf("ill: %v, told: %v", ill, healthy)
		}
		for _, service := range services() {
			answer, err := s.health.Check(context.Background(), &healthpb.HealthCheckRequest{Service: service})
			if err != nil || (answer.GetStatus() == healthpb.HealthCheckResponse_SERVING) == ill {
				t.Errorf("ill: %v, %q says %v, %v", ill, service, answer, err)
			}
		}
		for path, good := range map[string]bool{"/readyz": !ill, "/livez": true} {
			r := httptest.NewRecorder()
			s.Handler().ServeHTTP(r, httptest.NewRequest("GET", path, nil))
			if (r.Code == 200) != good || !good && !strings.Contains(r.Body.String(), "on fire") {
				t.Errorf("ill: %v, %s says %d %s", ill, path, r.Code, r.Body)
			}
		}
	}
}
