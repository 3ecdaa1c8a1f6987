package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	compression "github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/tidemark-engine/tidemark/sdk"
)

// openDatabase opens Pebble with the settings that suit blocks of entries.
func openDatabase(dir string, options Options) (*pebble.DB, error) {
	settings := &pebble.Options{
		FS:                          options.FS,
		CacheSize:                   options.CacheBytes,
		MemTableSize:                options.MemTableBytes,
		MemTableStopWritesThreshold: 4,
		FormatMajorVersion:          pebble.FormatNewest,
		Logger:                      logger{options.Logger},
	}
	for i := range settings.Levels {
		settings.Levels[i].Compression = func() *compression.CompressionProfile { return compression.NoCompression }
	}
	return pebble.Open(dir, settings)
}

// database is Pebble behind a gate, so that nobody uses it when it is closed.
type database struct {
	gate sync.RWMutex // held for reading while Pebble is in use, for writing to change what follows
	db   *pebble.DB   // nil when there is none, and then why says why
	why  error
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
