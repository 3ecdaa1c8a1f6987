package server

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/scheduling"
)

// observation is one value with its labels.
type observation[N int64 | float64] struct {
	value  N
	labels []attribute.KeyValue
}

// meterRow is one metric that is told when somebody asks: its name without
// unit and without _total, which the exporter adds.
type meterRow struct {
	name, unit, description string
	rises                   bool // a counter; else a gauge
	values                  func(*engine.Stats) []observation[int64]
	seconds                 func(*engine.Stats) []observation[float64]
}

// gauge and counter make the usual row.
func gauge(name, unit, description string, value func(*engine.Stats) int64) meterRow {
	return meterRow{name: name, unit: unit, description: description, values: func(s *engine.Stats) []observation[int64] {
		return []observation[int64]{{value: value(s)}}
	}}
}

func counter(name, unit, description string, value func(*engine.Stats) int64) meterRow {
	row := gauge(name, unit, description, value)
	row.rises = true
	return row
}

// table lists the metrics.
func (m *meters) table() []meterRow {
	own := func(value interface{ Load() int64 }) func(*engine.Stats) int64 {
		return func(*engine.Stats) int64 { return value.Load() }
	}
	rows := []meterRow{
		gauge("tidemark.server.streams", "{stream}", "Streams that are open.", own(&m.server.streams)),
		counter("tidemark.server.produced.messages", "{message}", "Messages that were acknowledged to producers.", own(&m.messages)),
		counter("tidemark.server.produced.size", "By", "Bytes of messages that were acknowledged to producers.", own(&m.bytes)),
		counter("tidemark.server.produced.duplicates", "{message}", "Acknowledged messages that had been stored before.", own(&m.duplicates)),
		counter("tidemark.server.produced.failures", "{message}", "Messages on produce streams that failed.", own(&m.failed)),
		counter("tidemark.server.read.frames", "{frame}", "Frames of entries that were sent to readers.", own(&m.frames)),
		counter("tidemark.server.read.entries", "{entry}", "Entries that were sent to readers.", own(&m.entries)),
		counter("tidemark.server.read.size", "By", "Bytes of entries that were sent to readers.", own(&m.read)),
	}
	rows = append(rows, topicRows()...)
	rows = append(rows, cacheRows()...)
	return append(rows, laneRows()...)
}

func topicRows() []meterRow {
	return []meterRow{
		gauge("tidemark.topics", "{topic}", "Topics that exist.", func(s *engine.Stats) int64 { return int64(s.Topics) }),
		gauge("tidemark.topics.open", "{topic}", "Topics that are open.", func(s *engine.Stats) int64 { return int64(s.Open) }),
		gauge("tidemark.ledgers", "{ledger}", "Ledgers of open topics.", func(s *engine.Stats) int64 { return int64(s.Ledgers) }),
		gauge("tidemark.cursors", "{cursor}", "Cursors of open topics.", func(s *engine.Stats) int64 { return int64(s.Cursors) }),
		gauge("tidemark.producers", "{producer}", "Named producers that open topics remember.", func(s *engine.Stats) int64 { return int64(s.Producers) }),
		gauge("tidemark.entries", "{entry}", "Entries that open topics keep.", func(s *engine.Stats) int64 { return s.Entries }),
		gauge("tidemark.size", "By", "Bytes of entries that open topics keep.", func(s *engine.Stats) int64 { return s.Bytes }),
		counter("tidemark.added.entries", "{entry}", "Entries that were acknowledged.", func(s *engine.Stats) int64 { return s.Totals.AddedEntries }),
		counter("tidemark.added.size", "By", "Bytes of entries that were acknowledged.", func(s *engine.Stats) int64 { return s.Totals.AddedBytes }),
		counter("tidemark.added.failures", "{failure}", "Adds that failed.", func(s *engine.Stats) int64 { return s.Totals.FailedAdds }),
		counter("tidemark.added.duplicates", "{message}", "Messages that were not stored because they were already.", func(s *engine.Stats) int64 { return s.Totals.Duplicates }),
		gauge("tidemark.pending.entries", "{entry}", "Entries that wait for their acknowledgement.", func(s *engine.Stats) int64 { return int64(s.Totals.PendingEntries) }),
		gauge("tidemark.pending.size", "By", "Bytes that wait for their acknowledgement.", func(s *engine.Stats) int64 { return s.Totals.PendingBytes }),
		gauge("tidemark.readers.waiting", "{reader}", "Readers that wait for entries.", func(s *engine.Stats) int64 { return int64(s.Totals.WaitingReaders) }),
	}
}

func cacheRows() []meterRow {
	return []meterRow{
		gauge("tidemark.cache.size", "By", "Bytes in the entry cache.", func(s *engine.Stats) int64 { return s.Cache.Bytes }),
		gauge("tidemark.cache.entries", "{entry}", "Entries in the entry cache.", func(s *engine.Stats) int64 { return s.Cache.Entries }),
		counter("tidemark.cache.hits", "{read}", "Reads that the cache answered.", func(s *engine.Stats) int64 { return s.Cache.Hits }),
		counter("tidemark.cache.misses", "{read}", "Reads that needed storage.", func(s *engine.Stats) int64 { return s.Cache.Misses }),
		counter("tidemark.cache.evictions", "{entry}", "Entries that the cache forgot because of size or age.", func(s *engine.Stats) int64 { return s.Cache.Evicted }),
		counter("tidemark.cache.merged", "{read}", "Reads that shared the storage read of another one.", func(s *engine.Stats) int64 { return s.Cache.Merged }),
		gauge("tidemark.storage.reads", "{read}", "Storage reads in flight.", func(s *engine.Stats) int64 { return int64(s.Cache.ReadsInFlight) }),
		gauge("tidemark.storage.reads.size", "By", "Estimated bytes of storage reads in flight.", func(s *engine.Stats) int64 { return s.Cache.ReadBytes }),
		gauge("tidemark.storage.reads.waiting", "{read}", "Storage reads that wait for room.", func(s *engine.Stats) int64 { return int64(s.Cache.Waiting) }),
	}
}

func laneRows() []meterRow {
	perKind := func(value func(scheduling.KindStats) time.Duration) func(*engine.Stats) []observation[float64] {
		return func(s *engine.Stats) []observation[float64] {
			all := make([]observation[float64], len(s.Lanes.ByKind))
			for kind, k := range s.Lanes.ByKind {
				all[kind] = observation[float64]{value(k).Seconds(), kindLabel(kind)}
			}
			return all
		}
	}
	return []meterRow{
		gauge("tidemark.lane.queued", "{task}", "Tasks that wait for the lanes of open topics.", func(s *engine.Stats) int64 { return int64(s.Lanes.Queued) }),
		{
			name: "tidemark.lane.tasks", unit: "{task}", rises: true, description: "Tasks that lanes ran, by kind.",
			values: func(s *engine.Stats) []observation[int64] {
				all := make([]observation[int64], len(s.Lanes.ByKind))
				for kind, k := range s.Lanes.ByKind {
					all[kind] = observation[int64]{k.Tasks, kindLabel(kind)}
				}
				return all
			},
		},
		{
			name: "tidemark.lane.busy", unit: "s", rises: true, description: "How long tasks of lanes ran, by kind.",
			seconds: perKind(func(k scheduling.KindStats) time.Duration { return k.Busy }),
		},
		{
			name: "tidemark.lane.waited", unit: "s", rises: true, description: "How long tasks waited for their lane, by kind.",
			seconds: perKind(func(k scheduling.KindStats) time.Duration { return k.Waited }),
		},
	}
}

func kindLabel(kind int) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("kind", scheduling.Kind(kind).String())}
}
