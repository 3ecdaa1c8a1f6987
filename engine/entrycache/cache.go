// Package entrycache keeps recent entries in memory for all managed ledgers of
// a process, lets equal storage reads share one, and bounds the bytes that
// storage reads have in flight.
//
// Entries come and go in runs, as they were confirmed or read: one step per
// batch, not per entry. Entries are immutable, so what the cache hands out may
// be kept by whoever gets it, also after the cache has dropped it.
package entrycache

import "time"

// Config bounds the cache. It may be changed while the cache is in use.
type Config struct {
	// MaxBytes bounds the payloads held; 0 turns caching off, and neither
	// merging nor the limit on reads in flight with it.
	MaxBytes int64
	// Watermark is the share of MaxBytes down to which an eviction by size
	// goes, in (0, 1].
	Watermark float64
	// TTL is how long an entry stays at most.
	TTL time.Duration
	// MaxReadBytes bounds the estimated bytes of storage reads in flight; 0
	// means no bound. A read larger than that is admitted when no other is in
	// flight.
	MaxReadBytes int64
	// MaxWaitingReads bounds the reads that wait for room.
	MaxWaitingReads int
}
