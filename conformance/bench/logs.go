package main

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// store is what a built-in store offers.
type store interface {
	sdk.Plugin
	sdk.LedgerStore
	Metadata() sdk.MetadataStore
}

// stand is a store with what managed ledgers on it share.
type stand struct {
	store store
	pool  *scheduling.Pool
	cache *entrycache.Cache
}

func newStand(s store) (*stand, error) {
	pool, err := scheduling.NewPool(scheduling.DefaultPoolConfig())
	if err != nil {
		return nil, err
	}
	cache, err := entrycache.New(entrycache.DefaultConfig(), pool)
	if err != nil {
		return nil, err
	}
	return &stand{store: s, pool: pool, cache: cache}, nil
}

func (s *stand) open(name string, change func(*managedledger.Config)) (*managedledger.ManagedLedger, error) {
	config := managedledger.DefaultConfig()
	if change != nil {
		change(&config)
	}
	return managedledger.Open(context.Background(), name, managedledger.Settings{
		Ledgers: s.store, Metadata: s.store.Metadata(), Store: s.store.Info(), Executor: s.pool, Cache: s.cache,
		PublishTime: func([]byte) (time.Time, bool) { return time.Time{}, false },
	}, config, managedledger.OpenOptions{Create: true})
}

func (s *stand) close() error {
	ctx := context.Background()
	return errors.Join(s.pool.Close(ctx), s.store.Close(ctx))
}

func openPebbleLog(dir string, syncDelay time.Duration) (appender, error) {
	s, err := pebble.Open(dir, pebble.Options{SyncDelay: syncDelay})
	if err != nil {
		return nil, err
	}
	return openLedgerLog(s)
}

func openMemoryLog(string) (appender, error) { return openLedgerLog(memory.Open()) }

func openLedgerLog(s store) (appender, error) {
	st, err := newStand(s)
	if err != nil {
		return nil, err
	}
	ledger, err := st.open("bench", nil)
	if err != nil {
		return nil, err
	}
	return ledgerLog{ledger, func() error {
		return errors.Join(ledger.Close(context.Background()), st.close())
	}}, nil
}
