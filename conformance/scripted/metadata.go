package scripted

import (
	"context"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Metadata is a metadata store with a script.
type Metadata struct {
	Script
	Inner sdk.MetadataStore
}

var _ sdk.MetadataStore = (*Metadata)(nil)

// Get implements [sdk.MetadataStore].
func (s *Metadata) Get(ctx context.Context, key string) (v sdk.Versioned, err error) {
	err = s.call(ctx, Get, func() (err error) {
		v, err = s.Inner.Get(ctx, key)
		return err
	})
	return v, err
}

// List implements [sdk.MetadataStore].
func (s *Metadata) List(ctx context.Context, prefix, after string, limit int) (keys []sdk.KeyValue, err error) {
	err = s.call(ctx, List, func() (err error) {
		keys, err = s.Inner.List(ctx, prefix, after, limit)
		return err
	})
	return keys, err
}

// Watch implements [sdk.MetadataStore].
func (s *Metadata) Watch(ctx context.Context, prefix string, changed func(key string)) error {
	return s.Inner.Watch(ctx, prefix, changed)
}

// Put implements [sdk.MetadataStore].
func (s *Metadata) Put(ctx context.Context, key string, value []byte, expected sdk.Version) (v sdk.Version, err error) {
	err = s.call(ctx, Put, func() (err error) {
		v, err = s.Inner.Put(ctx, key, value, expected)
		return err
	})
	return v, err
}

// Delete implements [sdk.MetadataStore].
func (s *Metadata) Delete(ctx context.Context, key string, expected sdk.Version) error {
	return s.call(ctx, DeleteKey, func() error { return s.Inner.Delete(ctx, key, expected) })
}
