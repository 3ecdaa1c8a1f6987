package sdk

import "context"

// MetadataStore holds versioned keys: what describes managed ledgers and
// cursors. It is a plugin kind of its own; see [Plugin] for one that offers both.
//
// All methods may be called at the same time from many goroutines, block for
// as long as the medium takes, and end early with the context's error. A write
// whose context ended may have happened. What a write returned as done is
// durable. After Close every method fails with [ErrClosed].
type MetadataStore interface {
	MetadataReader
	MetadataWriter
}

// MetadataReader is the reading half of a [MetadataStore].
type MetadataReader interface {
	// Get returns the value and version of key, or [ErrKeyNotFound]. A Get
	// that begins after a Put has returned sees that Put or a later one.
	Get(ctx context.Context, key string) (Versioned, error)

	// List returns up to limit keys that start with prefix and are greater
	// than after, rising by bytes, with values and versions; fewer than limit
	// means that there are no more. An error is never a short list.
	List(ctx context.Context, prefix, after string, limit int) ([]KeyValue, error)

	// Watch calls changed with each key under prefix that was written or
	// deleted after Watch was called, until ctx ends; then it returns the
	// context's error. Changes of one key may be merged; the last one is never
	// missed. changed must not block. A store without that ability returns
	// [ErrUnsupported] at once.
	Watch(ctx context.Context, prefix string, changed func(key string)) error
}

// MetadataWriter is the writing half of a [MetadataStore].
type MetadataWriter interface {
	// Put writes value if key has the expected version ([NoVersion]: does not
	// exist) and returns the new version, else [ErrVersionConflict]. With
	// [AnyVersion] it writes in any case. The store may not keep value after
	// returning.
	Put(ctx context.Context, key string, value []byte, expected Version) (Version, error)

	// Delete removes key if it has the expected version, else
	// [ErrVersionConflict]; [ErrKeyNotFound] if it is not there. [AnyVersion]
	// removes it in any case.
	Delete(ctx context.Context, key string, expected Version) error
}

// Version names one write of a key. It rises with every write of the key, not
// always by one; a key that was deleted and written again never gets a version
// that it had before.
type Version int64

const (
	// NoVersion is the version of a key that does not exist.
	NoVersion Version = 0
	// AnyVersion asks for a write whatever the version is.
	AnyVersion Version = -1
)

// Versioned is a value with its version. The value belongs to whoever got it.
type Versioned struct {
	Value   []byte
	Version Version
}

// KeyValue is one line of a listing.
type KeyValue struct {
	Key string
	Versioned
}
