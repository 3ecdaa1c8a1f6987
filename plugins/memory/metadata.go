package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tidemark-engine/tidemark/sdk"
)

// metadata implements [sdk.MetadataStore].
type metadata struct {
	watchers sdk.Watchers

	guard   sync.RWMutex // guards what follows
	values  map[string]sdk.Versioned
	last    sdk.Version // of all keys, so that a key written again gets a new one
	stopped bool
}

func (m *metadata) close() {
	m.guard.Lock()
	m.stopped = true
	m.guard.Unlock()
	m.watchers.Close()
}

// usable must be called with the guard held.
func (m *metadata) usable(ctx context.Context) error {
	if m.stopped {
		return sdk.ErrClosed
	}
	return ctx.Err()
}

// Get implements [sdk.MetadataReader].
func (m *metadata) Get(ctx context.Context, key string) (sdk.Versioned, error) {
	m.guard.RLock()
	defer m.guard.RUnlock()
	if err := m.usable(ctx); err != nil {
		return sdk.Versioned{}, err
	}
	found, there := m.values[key]
	if !there {
		return sdk.Versioned{}, fmt.Errorf("metadata %q: %w", key, sdk.ErrKeyNotFound)
	}
	return copied(found), nil
}

func copied(v sdk.Versioned) sdk.Versioned {
	return sdk.Versioned{Value: append([]byte{}, v.Value...), Version: v.Version}
}

// List implements [sdk.MetadataReader].
func (m *metadata) List(ctx context.Context, prefix, after string, limit int) ([]sdk.KeyValue, error) {
	m.guard.RLock()
	defer m.guard.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("%w: limit %d", sdk.ErrInvalid, limit)
	}
	var keys []string
	for key := range m.values {
		if key > after && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var found []sdk.KeyValue
	for _, key := range keys[:min(limit, len(keys))] {
		found = append(found, sdk.KeyValue{Key: key, Versioned: copied(m.values[key])})
	}
	return found, nil
}

// Watch implements [sdk.MetadataReader].
func (m *metadata) Watch(ctx context.Context, prefix string, changed func(key string)) error {
	return m.watchers.Watch(ctx, prefix, changed)
}

// Put implements [sdk.MetadataWriter].
func (m *metadata) Put(ctx context.Context, key string, value []byte, expected sdk.Version) (sdk.Version, error) {
	m.guard.Lock()
	defer m.guard.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	if err := expected.Check(m.values[key].Version); err != nil {
		return 0, fmt.Errorf("metadata %q: %w", key, err)
	}
	m.last++
	m.values[key] = sdk.Versioned{Value: append([]byte{}, value...), Version: m.last}
	m.watchers.Changed(key)
	return m.last, nil
}

// Delete implements [sdk.MetadataWriter].
func (m *metadata) Delete(ctx context.Context, key string, expected sdk.Version) error {
	m.guard.Lock()
	defer m.guard.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	found, there := m.values[key]
	if !there {
		return fmt.Errorf("metadata %q: %w", key, sdk.ErrKeyNotFound)
	}
	if err := expected.Check(found.Version); err != nil {
		return fmt.Errorf("metadata %q: %w", key, err)
	}
	delete(m.values, key)
	m.watchers.Changed(key)
	return nil
}
