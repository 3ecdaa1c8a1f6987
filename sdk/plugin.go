package sdk

import "context"

// Plugin is the life of a store: what it answers before anything else, how it
// is, and its end. A store that keeps ledgers implements Plugin and
// [LedgerStore]; one that keeps metadata implements Plugin and [MetadataStore].
// One that keeps both is a LedgerStore with a method Metadata that returns its
// MetadataStore, and ends both with Close.
type Plugin interface {
	// Info says what this plugin is. It does not block, needs nothing opened
	// or configured, and always gives the same answer.
	Info() Info

	// Health reports whether the plugin can serve now: nil, or what is wrong.
	// A plugin that reads and does not write, because the medium is full or
	// failed, says so. It answers within the context.
	Health(ctx context.Context) error

	// Close flushes, ends all that is in flight with [ErrClosed] or its result,
	// and frees what the plugin holds: locks, files, goroutines. It is bounded
	// by the context; closing again gives the same answer without doing it
	// twice.
	Close(ctx context.Context) error
}

// Info describes a plugin. The zero value of every ability is the least able;
// what is not declared must be refused with [ErrUnsupported].
type Info struct {
	// Name and Version name the plugin for people: pebble 2.1.7.
	Name, Version string
	// Durable says that acknowledged entries survive the end of the process.
	Durable bool
	// BlockingReads says that [LedgerReader.Read] may occupy the calling
	// goroutine until the read is done.
	BlockingReads bool
	// Watch says that [MetadataReader.Watch] works.
	Watch bool
	// MaxEntryBytes is the largest entry that the store takes; 0 means that it
	// has no limit of its own.
	MaxEntryBytes int
}
