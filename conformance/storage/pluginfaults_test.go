package storage_test

import (
	"context"
	"fmt"

	"github.com/tidemark-engine/tidemark/sdk"
)

func pluginFaults() map[string]func(*faulty) {
	return map[string]func(*faulty){
		"info/constant": func(f *faulty) {
			calls := 0
			f.info = func() sdk.Info {
				calls++
				return sdk.Info{Name: "odd", Version: fmt.Sprint(calls)}
			}
		},
		"health/serving": func(f *faulty) {
			f.health = func(context.Context) error { return errOdd }
		},
		"close/twice": func(f *faulty) {
			closed := false
			f.close = func(ctx context.Context) error {
				if closed {
					return sdk.ErrClosed
				}
				closed = true
				return f.Store.Close(ctx)
			}
		},
		"close/health": func(f *faulty) {
			f.health = func(context.Context) error { return nil }
		},
		"close/ledgers": func(f *faulty) {
			f.list = func(context.Context, sdk.LedgerID, int) ([]sdk.LedgerID, error) { return nil, nil }
		},
		"close/handles":   confusing(sdk.ErrClosed, sdk.ErrUnavailable),
		"close/in-flight": failingAt(150),
		"close/metadata": func(f *faulty) {
			f.metadata.get = func(context.Context, string) (sdk.Versioned, error) { return sdk.Versioned{}, sdk.ErrKeyNotFound }
		},
	}
}

func metadataFaults() map[string]func(*faulty) {
	all := casFaults()
	for id, fault := range watchFaults() {
		all[id] = fault
	}
	all["get/not-found"] = func(f *faulty) {
		f.metadata.get = func(context.Context, string) (sdk.Versioned, error) { return sdk.Versioned{}, nil }
	}
	all["get/sees-put"] = func(f *faulty) {
		var stale *sdk.Versioned
		f.metadata.get = func(ctx context.Context, key string) (sdk.Versioned, error) {
			if stale == nil {
				v, err := f.Store.Metadata().Get(ctx, key)
				stale = &v
				return v, err
			}
			return *stale, nil
		}
	}
	all["put/bytes-are-the-callers-again"] = func(f *faulty) {
		kept := map[string][]byte{}
		f.metadata.put = func(ctx context.Context, key string, value []byte, expected sdk.Version) (sdk.Version, error) {
			kept[key] = value
			return f.Store.Metadata().Put(ctx, key, value, expected)
		}
		f.metadata.get = func(ctx context.Context, key string) (sdk.Versioned, error) {
			v, err := f.Store.Metadata().Get(ctx, key)
			v.Value = kept[key]
			return v, err
		}
	}
	all["put/durable"] = forgetful
	all["metadata-list/prefix"] = func(f *faulty) {
		f.metadata.list = func(ctx context.Context, prefix, _ string, limit int) ([]sdk.KeyValue, error) {
			return f.Store.Metadata().List(ctx, prefix, "", limit)
		}
	}
	all["metadata-list/limit"] = func(f *faulty) {
		f.metadata.list = func(ctx context.Context, prefix, after string, limit int) ([]sdk.KeyValue, error) {
			return f.Store.Metadata().List(ctx, prefix, after, max(limit, 1))
		}
	}
	all["metadata/context"] = func(f *faulty) {
		f.metadata.get = func(ctx context.Context, key string) (sdk.Versioned, error) {
			return f.Store.Metadata().Get(context.WithoutCancel(ctx), key)
		}
	}
	return all
}

func casFaults() map[string]func(*faulty) {
	careless := func(f *faulty) {
		f.metadata.put = func(ctx context.Context, key string, value []byte, _ sdk.Version) (sdk.Version, error) {
			return f.Store.Metadata().Put(ctx, key, value, sdk.AnyVersion)
		}
		f.metadata.delete = func(ctx context.Context, key string, _ sdk.Version) error {
			return f.Store.Metadata().Delete(ctx, key, sdk.AnyVersion)
		}
	}
	return map[string]func(*faulty){
		"put/versions-rise": func(f *faulty) {
			f.metadata.put = func(ctx context.Context, key string, value []byte, _ sdk.Version) (sdk.Version, error) {
				_, err := f.Store.Metadata().Put(ctx, key, value, sdk.AnyVersion)
				return 1, err
			}
		},
		"put/conflict": careless,
		"put/any-version": func(f *faulty) {
			f.metadata.put = func(ctx context.Context, key string, value []byte, expected sdk.Version) (sdk.Version, error) {
				return f.Store.Metadata().Put(ctx, key, value, max(expected, sdk.NoVersion))
			}
		},
		"put/one-wins":             careless,
		"metadata-delete/conflict": careless,
		"put/version-never-again": func(f *faulty) {
			versions := map[string]sdk.Version{}
			f.metadata.put = func(ctx context.Context, key string, value []byte, expected sdk.Version) (sdk.Version, error) {
				versions[key]++
				_, err := f.Store.Metadata().Put(ctx, key, value, expected)
				return versions[key], err
			}
			f.metadata.delete = func(ctx context.Context, key string, expected sdk.Version) error {
				delete(versions, key)
				return f.Store.Metadata().Delete(ctx, key, expected)
			}
		},
	}
}

func watchFaults() map[string]func(*faulty) {
	return map[string]func(*faulty){
		"watch/refused": func(f *faulty) {
			f.info = func() sdk.Info { return sdk.Info{Name: "odd", Version: "1"} }
			f.metadata.watch = func(context.Context, string, func(string)) error { return nil }
		},
		"watch/changes": func(f *faulty) {
			f.metadata.watch = func(ctx context.Context, _ string, changed func(string)) error {
				return f.Store.Metadata().Watch(ctx, "", changed)
			}
		},
		"watch/context": func(f *faulty) {
			f.metadata.watch = func(context.Context, string, func(string)) error { return nil }
		},
	}
}
