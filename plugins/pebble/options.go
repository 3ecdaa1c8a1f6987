package pebble

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are the settings of a store. The zero value of each field stands for
// its default.
type Options struct {
	// AcknowledgeBeforeSync acknowledges adds and metadata writes once they
	// are handed to the operating system's caller, before they are on stable
	// storage. What was acknowledged in about the last second is lost when the
	// machine, or even this process, ends without Close. Default: false.
	AcknowledgeBeforeSync bool
	// SyncDelay is waited after each sync, to measure how a slower disk would
	// do. Default: none.
	SyncDelay time.Duration
	// CacheBytes is the size of the cache of blocks read from table files.
	// Default: 64 MiB.
	CacheBytes int64
	// MemTableBytes is the size of one table in memory; four to five exist under
	// load. It
	// also bounds how much log is read again after a crash. Default: 64 MiB.
	MemTableBytes uint64
	// MaxEntryBytes is the largest entry, and the largest metadata value, that
	// is taken. Default: 16 MiB; at most a quarter of MemTableBytes.
	MaxEntryBytes int
	// MaxPendingBytes bounds the entries that were handed over and are not yet
	// taken by the committer; beyond it adds are refused as busy.
	// Default: 256 MiB.
	MaxPendingBytes int
	// ReserveBytes is how much room is kept free on the disk: with less, adds
	// are refused as full, and a file of this size is given up when a write
	// finds no room at all. At least 1 MiB. Default: MemTableBytes.
	ReserveBytes int64
	// Logger gets the store's messages and Pebble's warnings. Default: none.
	Logger *slog.Logger
	// FS is the file system. Default: the operating system's.
	FS vfs.FS
}

// withDefaults returns the options with every default filled in.
func (o Options) withDefaults() Options {
	o.CacheBytes = orDefault(o.CacheBytes, 64<<20)
	o.MemTableBytes = orDefault(o.MemTableBytes, 64<<20)
	o.MaxEntryBytes = min(orDefault(o.MaxEntryBytes, 16<<20), int(o.MemTableBytes/4))
	o.MaxPendingBytes = orDefault(o.MaxPendingBytes, 256<<20)
	o.ReserveBytes = max(orDefault(o.ReserveBytes, int64(o.MemTableBytes)), 1<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	return o
}

func orDefault[T int | int64 | uint64](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}
