package server

import (
	"context"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

const (
	// healthInterval is how often the engine is asked how it is, for those who
	// watch.
	healthInterval = 5 * time.Second
	// healthTimeout bounds one such question.
	healthTimeout = 3 * time.Second
)

// services are the names under which health is told; "" is the whole server.
func services() []string {
	return []string{
		"",
		tidemarkv1.TopicService_ServiceDesc.ServiceName,
		tidemarkv1.ProduceService_ServiceDesc.ServiceName,
		tidemarkv1.ReadService_ServiceDesc.ServiceName,
		tidemarkv1.CursorService_ServiceDesc.ServiceName,
	}
}

func (s *Server) setHealth(status healthpb.HealthCheckResponse_ServingStatus) {
	for _, name := range services() {
		s.health.SetServingStatus(name, status)
	}
}

// ready returns nil if the server can serve now, or why not.
func (s *Server) ready(ctx context.Context) error {
	if s.isClosing() {
		return errClosing
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	return s.engine.Health(ctx)
}

// watchHealth tells those who watch when the engine's health changes. It ends
// when the server closes.
func (s *Server) watchHealth() {
	ticker := time.NewTicker(healthInterval)
	defer ticker.Stop()
	for healthy := true; ; healthy = s.tellHealth(healthy) {
		select {
		case <-s.life.Done():
			return
		case <-ticker.C:
		}
	}
}

// tellHealth asks the engine how it is, tells those who watch if that is not
// what it was, and returns it.
func (s *Server) tellHealth(was bool) (healthy bool) {
	err := s.ready(s.life)
	healthy = err == nil
	if s.isClosing() || healthy == was {
		return was
	}
	if healthy {
		s.log.Info("the engine is healthy again")
		s.setHealth(healthpb.HealthCheckResponse_SERVING)
	} else {
		s.log.Error("the engine is not healthy", "error", err)
		s.setHealth(healthpb.HealthCheckResponse_NOT_SERVING)
	}
	return healthy
}
