package main

import (
	"log/slog"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/config"
	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/engine/server"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/scheduling"
)

// The parts of the daemon know nothing of the configuration file: what stands
// there is translated here into what each of them takes.

func engineConfig(c config.Config, log *slog.Logger) engine.Config {
	t := c.Topics
	return engine.Config{
		Topic: engine.TopicConfig{
			MaxEntriesPerLedger: t.MaxEntriesPerLedger,
			MaxBytesPerLedger:   int64(t.MaxSizePerLedger),
			MaxLedgerAge:        t.MaxLedgerAge,
			MinLedgerAge:        t.MinLedgerAge,
			RetentionBytes:      int64(t.RetentionSize),
			RetentionTime:       t.RetentionTime,
			MaxEntryBytes:       int64(t.MaxEntrySize),
			MaxPendingEntries:   t.MaxPendingEntries,
			MaxPendingBytes:     int64(t.MaxPendingSize),
			ReadPolicy:          t.ReadPolicy,
			Submission:          t.Submission,
			Placement:           t.Placement,
			MaxAckRanges:        t.MaxAckRanges,
			SkipLostLedgers:     t.SkipLostLedgers,
		},
		Cache: entrycache.Config{
			MaxBytes:        int64(c.Cache.Size),
			Watermark:       c.Cache.Watermark,
			TTL:             c.Cache.TTL,
			MaxReadBytes:    int64(c.Cache.MaxReadsInFlight),
			MaxWaitingReads: int(c.Cache.MaxWaitingReads),
		},
		Scheduler: scheduling.PoolConfig{
			Drainers:          int(c.Scheduler.Drainers),
			Workers:           int(c.Scheduler.Workers),
			MaxWaitingPerLane: int(c.Scheduler.MaxWaitingPerLane),
			MaxWaiting:        int(c.Scheduler.MaxWaiting),
			MaxQueuedWork:     int(c.Scheduler.MaxQueuedWork),
			ProfileLabels:     c.Scheduler.ProfileLabels,
			Logger:            log,
		},
		MaintenanceInterval:     c.Maintenance.Interval,
		MaxTopics:               int(c.Limits.MaxTopics),
		MaxProducersPerTopic:    int(c.Limits.MaxProducersPerTopic),
		ProducerSnapshotEntries: int(c.Limits.ProducerSnapshot),
	}
}

func pebbleOptions(c config.Config, log *slog.Logger) pebble.Options {
	reserve := int64(c.Store.ReserveSize)
	if reserve == 0 {
		reserve = -1 // which there means none, and 0 the store's own choice
	}
	return pebble.Options{
		AcknowledgeBeforeSync: c.Store.AcknowledgeBeforeSync,
		CacheBytes:            int64(c.Store.CacheSize),
		MemTableBytes:         uint64(c.Store.MemtableSize),
		MaxEntryBytes:         int(c.Store.MemtableSize / config.MemtableShare),
		MaxPendingBytes:       int(c.Store.MaxPendingSize),
		ReserveBytes:          reserve,
		Logger:                log,
	}
}

func serverOptions(c config.Config, log *slog.Logger) server.Options {
	return server.Options{
		MaxMessageBytes:   int(c.Server.MaxMessageSize),
		FrameBytes:        int(c.Server.FrameSize),
		StreamBytes:       int64(c.Server.StreamSize),
		HeartbeatInterval: c.Server.Heartbeat,
		MaxStreams:        uint32(c.Server.MaxStreams),
		Reflection:        c.Server.Reflection,
		Version:           readBuildInfo().Version,
		Log:               log,
	}
}
