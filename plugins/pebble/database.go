package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	compression "github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/tidemark-engine/tidemark/sdk"
)

// database is Pebble behind a gate, so that nobody uses it when it is closed
// and that it can be closed and opened again under its readers.
type database struct {
	gate sync.RWMutex // held for reading while Pebble is in use, for writing to change what follows
	db   *pebble.DB   // nil when there is none, and then why says why
	why  error
}

// replace closes Pebble and opens it by open, with the gate held.
func (d *database) replace(open func() (*pebble.DB, error)) error {
	d.gate.Lock()
	defer d.gate.Unlock()
	if d.db != nil {
		// What it could not write is known and was told to those concerned.
		_ = d.db.Close()
	}
	d.db, d.why = open()
	return d.why
}

// settle writes the tables in memory out, so that the next start has no log to
// read. It gives up when ctx ends; the log then has it all.
func (d *database) settle(ctx context.Context, hopeless func() bool) {
	_ = d.view(func(db *pebble.DB) error {
		flushed, err := db.AsyncFlush()
		if err != nil {
			return err
		}
		look := time.NewTicker(settleLook)
		defer look.Stop()
		for {
			select {
			case <-flushed:
				return nil
			case <-ctx.Done():
				return nil
			case <-look.C:
				if hopeless() {
					return nil
				}
			}
		}
	})
}

// How long Close waits for Pebble to write its tables in memory out, and how
// often it looks whether that can still work.
const (
	settleLimit = 10 * time.Second
	settleLook  = 20 * time.Millisecond
)

// close closes the database for good.
func (d *database) close() error {
	d.gate.Lock()
	defer d.gate.Unlock()
	d.why = sdk.ErrClosed
	if d.db == nil {
		return nil
	}
	err := d.db.Close()
	d.db = nil
	return err
}

// view calls look with the database, which stays open until look returns. look
// calls nobody outside this package.
func (d *database) view(look func(db *pebble.DB) error) error {
	d.gate.RLock()
	defer d.gate.RUnlock()
	if d.db == nil {
		return d.why
	}
	return look(d.db)
}

// get calls found with the value of key, which is valid until found returns,
// or returns pebble.ErrNotFound.
func (d *database) get(key []byte, found func(value []byte) error) error {
	return d.view(func(db *pebble.DB) error {
		value, closer, err := db.Get(key)
		if errors.Is(err, pebble.ErrNotFound) {
			return err
		}
		if err != nil {
			return readFailure(err)
		}
		defer closer.Close()
		return found(value)
	})
}

// iterate calls look with an iterator over the keys from lower to below.
func (d *database) iterate(lower, below []byte, look func(*pebble.Iterator) error) error {
	return d.view(func(db *pebble.DB) error {
		iter, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: below})
		if err != nil {
			return readFailure(err)
		}
		defer iter.Close()
		if err := look(iter); err != nil {
			return err
		}
		if err := iter.Error(); err != nil {
			return readFailure(err)
		}
		return nil
	})
}

// counter returns the number stored under key, 0 if there is none.
func (d *database) counter(key []byte) (n int64, err error) {
	err = d.get(key, func(value []byte) error {
		if len(value) != 8 {
			return fmt.Errorf("%w: counter %q", sdk.ErrCorrupt, key)
		}
		n = int64(binary.LittleEndian.Uint64(value))
		return nil
	})
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	return n, err
}

func putCounter(batch *pebble.Batch, key []byte, n int64) error {
	return batch.Set(key, binary.LittleEndian.AppendUint64(nil, uint64(n)), nil)
}

// readFailure says what a failed read of the database means.
func readFailure(err error) error {
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", sdk.ErrCorrupt, err)
	}
	return fmt.Errorf("%w: %w", sdk.ErrUnavailable, err)
}

// openPebble opens Pebble under a guard, with the settings that suit blocks of
// entries.
func openPebble(d *directory, g *guard, o Options, readOnly bool) (db *pebble.DB, err error) {
	defer func() {
		if v := recover(); v != nil { // Pebble panics on some kinds of damage.
			db, err = nil, fmt.Errorf("%w: the database in %s cannot be opened: %v", sdk.ErrCorrupt, d.path, v)
		}
	}()
	if err := examine(d); err != nil {
		return nil, err
	}
	settings := &pebble.Options{
		FS:               g,
		Lock:             d.lock,
		ReadOnly:         readOnly,
		ErrorIfNotExists: d.state == stateReady,
		CacheSize:        o.CacheBytes,
		MemTableSize:     o.MemTableBytes,
		// Pebble never waits by itself: see keeper.
		MemTableStopWritesThreshold: 1000,
		L0StopWritesThreshold:       1000,
		// The newest format tells damage of the log from its torn end.
		FormatMajorVersion: pebble.FormatNewest,
		// Deleted ledgers give their room back soon, also when nothing is added.
		FlushDelayDeleteRange: 5 * time.Second,
		Logger:                logger{to: o.Logger, fatal: g.breakWith},
		EventListener:         listener(o.Logger),
	}
	settings.Experimental.CompactionScheduler = newCompactions()
	for i := range settings.Levels {
		settings.Levels[i].Compression = func() *compression.CompressionProfile { return compression.NoCompression }
	}
	db, err = pebble.Open(d.path, settings)
	g.opened.Store(true)
	if err == nil && g.err() != nil {
		_ = db.Close() // It failed already, without noticing.
		db, err = nil, g.err()
	}
	if err != nil {
		return nil, openFailure(err)
	}
	return db, nil
}

// openFailure says what a database that does not open means.
func openFailure(err error) error {
	switch {
	case isFull(err):
		return fmt.Errorf("%w: %w", sdk.ErrFull, err)
	case errors.Is(err, pebble.ErrDBDoesNotExist), errors.Is(err, pebble.ErrDBNotPristine), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: files of the database are missing: %w; put them back, or start in another directory", sdk.ErrCorrupt, err)
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%w: %w; nothing was changed: put back a copy of the directory, or start in another one", sdk.ErrCorrupt, err)
	default:
		return fmt.Errorf("%w: %w", sdk.ErrUnavailable, err)
	}
}
