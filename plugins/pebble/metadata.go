package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// metadata implements [sdk.MetadataStore]. A value is stored behind its
// version, 8 bytes in little endian.
type metadata struct {
	store    *Store
	locks    keyLocks
	watchers sdk.Watchers
	// last is the last version given, of all keys, so that a key that is
	// written again gets a new one; the committer's.
	last sdk.Version
}

// Get implements [sdk.MetadataReader].
func (m *metadata) Get(ctx context.Context, key string) (sdk.Versioned, error) {
	if err := ctx.Err(); err != nil {
		return sdk.Versioned{}, err
	}
	var found sdk.Versioned
	err := m.store.database.get(metadataKey(key), func(value []byte) (err error) {
		found, err = parseVersioned(value)
		return err
	})
	if errors.Is(err, pebble.ErrNotFound) {
		err = sdk.ErrKeyNotFound
	}
	if err != nil {
		return sdk.Versioned{}, fmt.Errorf("metadata %q: %w", key, err)
	}
	return found, nil
}

// parseVersioned copies value.
func parseVersioned(value []byte) (sdk.Versioned, error) {
	if len(value) < 8 {
		return sdk.Versioned{}, fmt.Errorf("%w: %d bytes are too few", sdk.ErrCorrupt, len(value))
	}
	return sdk.Versioned{
		Version: sdk.Version(binary.LittleEndian.Uint64(value)),
		Value:   append([]byte{}, value[8:]...),
	}, nil
}

// List implements [sdk.MetadataReader].
func (m *metadata) List(ctx context.Context, prefix, after string, limit int) ([]sdk.KeyValue, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("%w: limit %d", sdk.ErrInvalid, limit)
	}
	from, below := metadataKey(prefix), upperBound(metadataKey(prefix))
	if after >= prefix {
		from = append(metadataKey(after), 0)
	}
	var found []sdk.KeyValue
	err := m.store.database.iterate(from, below, func(iter *pebble.Iterator) error {
		for iter.First(); iter.Valid() && len(found) < limit; iter.Next() {
			key := string(iter.Key()[1:])
			versioned, err := parseVersioned(iter.Value())
			if err != nil {
				return fmt.Errorf("%q: %w", key, err)
			}
			found = append(found, sdk.KeyValue{Key: key, Versioned: versioned})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list metadata: %w", err)
	}
	return found, nil
}

// Watch implements [sdk.MetadataReader].
func (m *metadata) Watch(ctx context.Context, prefix string, changed func(key string)) error {
	return m.watchers.Watch(ctx, prefix, changed)
}

// Put implements [sdk.MetadataWriter].
func (m *metadata) Put(ctx context.Context, key string, value []byte, expected sdk.Version) (sdk.Version, error) {
	if len(value) > m.store.options.MaxEntryBytes {
		return 0, fmt.Errorf("metadata %q: %w: %d bytes, the limit is %d", key, sdk.ErrTooLarge, len(value), m.store.options.MaxEntryBytes)
	}
	stored := append(make([]byte, 8, 8+len(value)), value...)
	var version sdk.Version
	err := m.change(ctx, key, expected, false, func(batch *pebble.Batch) error {
		m.last++
		version = m.last
		binary.LittleEndian.PutUint64(stored, uint64(version))
		return batch.Set(metadataKey(key), stored, nil)
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// Delete implements [sdk.MetadataWriter].
func (m *metadata) Delete(ctx context.Context, key string, expected sdk.Version) error {
	return m.change(ctx, key, expected, true, func(batch *pebble.Batch) error {
		return batch.Delete(metadataKey(key), nil)
	})
}

// change writes one key if it has the expected version. Changes of one key
// follow each other; those of different keys share a sync.
func (m *metadata) change(ctx context.Context, key string, expected sdk.Version, mustExist bool, put func(*pebble.Batch) error) error {
	release, err := m.locks.lock(ctx, key)
	if err != nil {
		return err
	}
	if err := m.allowed(ctx, key, expected, mustExist); err != nil {
		release()
		return err
	}
	err = m.store.write(ctx, func(batch *pebble.Batch) error {
		if err := put(batch); err != nil {
			return err
		}
		return putCounter(batch, metadataVersionKey, int64(m.last))
	}, func(err error) {
		release()
		if err == nil {
			m.watchers.Changed(key)
		}
	})
	if err != nil {
		return fmt.Errorf("metadata %q: %w", key, err)
	}
	return nil
}

// allowed says whether a key may be changed.
func (m *metadata) allowed(ctx context.Context, key string, expected sdk.Version, mustExist bool) error {
	current, err := m.Get(ctx, key)
	if err != nil && (mustExist || !errors.Is(err, sdk.ErrKeyNotFound)) {
		return err
	}
	if err := expected.Check(current.Version); err != nil {
		return fmt.Errorf("metadata %q: %w", key, err)
	}
	return nil
}
