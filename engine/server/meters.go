package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/sdk/message"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// meters are the metrics of one server. What is counted for every batch is
// counted in plain atomics, and told when somebody asks.
type meters struct {
	server   *Server
	registry *prometheus.Registry
	provider *sdkmetric.MeterProvider
	calls    metric.Float64Histogram

	messages, bytes, duplicates, failed atomic.Int64 // produced
	frames, entries, read               atomic.Int64 // handed out; read is bytes
}

// newMeters makes the metrics of a server in a registry of their own, so that
// several servers fit in one process.
func newMeters(s *Server) (*meters, error) {
	m := &meters{server: s, registry: prometheus.NewRegistry()}
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(m.registry), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	m.provider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	meter := m.provider.Meter("github.com/tidemark-engine/tidemark/engine/server")
	m.calls, err = meter.Float64Histogram("tidemark.server.call.duration", metric.WithUnit("s"),
		metric.WithDescription("How long calls and streams took, by method and reason of failure (empty: success)."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	if err != nil {
		return nil, err
	}
	return m, m.observe(meter)
}

// handler serves the metrics.
func (m *meters) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// shutdown ends the metrics.
func (m *meters) shutdown(ctx context.Context) error { return m.provider.Shutdown(ctx) }

// call counts one call or stream. Methods and reasons are few: a method that
// does not exist never gets here, and a reason is one of a table.
func (m *meters) call(ctx context.Context, method string, r reason.Reason, took time.Duration) {
	m.calls.Record(context.WithoutCancel(ctx), took.Seconds(), metric.WithAttributes(
		attribute.String("method", strings.TrimPrefix(method, "/")), attribute.String("reason", string(r))))
}

// produced counts a batch of a stream.
func (m *meters) produced(a *produceAdd) {
	if a.err != nil {
		m.failed.Add(int64(a.count))
		return
	}
	m.messages.Add(int64(a.count))
	m.bytes.Add(int64(len(a.packed)))
	m.duplicates.Add(int64(a.appended.Duplicates))
}

// appended counts a unary append.
func (m *meters) appended(msgs []message.Message, a engine.Appended) {
	m.messages.Add(int64(len(msgs)))
	for i := range msgs {
		m.bytes.Add(int64(msgs[i].Size()))
	}
	m.duplicates.Add(int64(a.Duplicates))
}

// handedOut counts a frame of entries.
func (m *meters) handedOut(entries, bytes int) {
	m.frames.Add(1)
	m.entries.Add(int64(entries))
	m.read.Add(int64(bytes))
}

// observe registers what is asked for when somebody wants to know.
func (m *meters) observe(meter metric.Meter) error {
	var observed []metric.Observable
	table := m.table()
	instruments := make([]metric.Int64Observable, len(table))
	seconds := make([]metric.Float64Observable, len(table))
	for i, row := range table {
		var err error
		unit, description := metric.WithUnit(row.unit), metric.WithDescription(row.description)
		switch {
		case row.seconds != nil:
			seconds[i], err = meter.Float64ObservableCounter(row.name, unit, description)
			observed = append(observed, seconds[i])
		case row.rises:
			instruments[i], err = meter.Int64ObservableCounter(row.name, unit, description)
			observed = append(observed, instruments[i])
		default:
			instruments[i], err = meter.Int64ObservableGauge(row.name, unit, description)
			observed = append(observed, instruments[i])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stats := m.server.engine.Stats()
		for i, row := range table {
			switch {
			case row.seconds != nil:
				for _, v := range row.seconds(&stats) {
					o.ObserveFloat64(seconds[i], v.value, metric.WithAttributes(v.labels...))
				}
			default:
				for _, v := range row.values(&stats) {
					o.ObserveInt64(instruments[i], v.value, metric.WithAttributes(v.labels...))
				}
			}
		}
		return nil
	}, observed...)
	return err
}
