package managedledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tidemark-engine/tidemark/sdk"
)

// Delete removes a managed ledger, its cursors and its entries. The first step
// marks its record, which fences whoever owns it and hides it from Open; the
// last one removes the record. If it fails in between, calling it again, or
// Open with Create, goes on. ErrNotFound if there is nothing to delete.
func Delete(ctx context.Context, name string, s Settings) error {
	err := remove(ctx, name, s)
	if err != nil {
		return fmt.Errorf("delete managed ledger %q: %w", name, err)
	}
	return nil
}

func remove(ctx context.Context, name string, s Settings) error {
	for range openAttempts {
		found, err := s.Metadata.Get(ctx, recordKey(name))
		if errors.Is(err, sdk.ErrKeyNotFound) {
			return ErrNotFound
		} else if err != nil {
			return err
		}
		stored, err := decodeRecord(found.Value)
		if err != nil {
			return err
		}
		version := found.Version
		if !stored.deleting {
			stored.deleting, stored.owner = true, rand.Text()
			value, err := stored.encode()
			if err != nil {
				return err
			}
			version, err = s.Metadata.Put(ctx, recordKey(name), value, version)
			if errors.Is(err, sdk.ErrVersionConflict) {
				continue // its owner was quicker
			} else if err != nil {
				return err
			}
		}
		return deleteRest(ctx, name, &stored, version, s)
	}
	return fmt.Errorf("%w: its owner keeps changing it; close it there first", sdk.ErrVersionConflict)
}

// deleteRest removes what belongs to a log that is marked as deleted, the
// record last.
func deleteRest(ctx context.Context, name string, stored *record, version sdk.Version, s Settings) error {
	ids := stored.removed
	for _, l := range stored.ledgers {
		ids = append(ids, l.id)
	}
	for _, id := range ids {
		if err := s.Ledgers.Delete(ctx, id); err != nil && !errors.Is(err, sdk.ErrLedgerNotFound) {
			return fmt.Errorf("delete ledger %d: %w", id, err)
		}
		if s.Cache != nil {
			s.Cache.DropLedger(id)
		}
	}
	if err := deleteKeys(ctx, cursorPrefix(name), s.Metadata); err != nil {
		return err
	}
	err := s.Metadata.Delete(ctx, recordKey(name), version)
	if errors.Is(err, sdk.ErrKeyNotFound) {
		return nil
	}
	return err
}

// deleteKeys removes all keys with a prefix.
func deleteKeys(ctx context.Context, prefix string, s sdk.MetadataStore) error {
	const page = 100
	for after := ""; ; {
		keys, err := s.List(ctx, prefix, after, page)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := s.Delete(ctx, k.Key, sdk.AnyVersion); err != nil && !errors.Is(err, sdk.ErrKeyNotFound) {
				return err
			}
			after = k.Key
		}
		if len(keys) < page {
			return nil
		}
	}
}

// Names returns up to limit names of managed ledgers behind after, in the order
// of their metadata keys; fewer than limit means that there are no more. It
// opens none of them. One that is being deleted may still be named.
func Names(ctx context.Context, s sdk.MetadataReader, after string, limit int) ([]string, error) {
	const prefix = "topic/"
	from := ""
	if after != "" {
		from = recordKey(after)
	}
	found, err := s.List(ctx, prefix, from, limit)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(found))
	for _, f := range found {
		name, err := url.PathUnescape(strings.TrimPrefix(f.Key, prefix))
		if err != nil {
			return nil, fmt.Errorf("%w: metadata key %q", sdk.ErrCorrupt, f.Key)
		}
		names = append(names, name)
	}
	return names, nil
}
