package pebble

import (
	"context"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// version is the version of Pebble that this package is made for.
const version = "2.1.7"

// Store implements [sdk.LedgerStore] and [sdk.Plugin]; its metadata store is
// [Store.Metadata]. It needs no framework and has no global state.
type Store struct {
	options   Options
	database  database
	in        intake
	committer *committer
	metadata  metadata

	// nextLedger is the id of the next ledger; the committer's.
	nextLedger sdk.LedgerID

	mu      sync.Mutex // guards what follows
	ledgers map[sdk.LedgerID]*ledger
	closed  bool

	closing sync.Once
	result  error // of closing
}

// Open opens the store in the directory dir, which it creates if it is not
// there. The caller closes the store.
func Open(dir string, options Options) (*Store, error) {
	options = options.withDefaults()
	db, err := openDatabase(dir, options)
	if err != nil {
		return nil, fmt.Errorf("open store in %s: %w", dir, err)
	}
	s := &Store{options: options, database: database{db: db}, ledgers: map[sdk.LedgerID]*ledger{}}
	s.in = intake{
		maxEntryBytes:   options.MaxEntryBytes,
		maxPendingBytes: options.MaxPendingBytes,
		wake:            make(chan struct{}, 1),
	}
	s.metadata = metadata{store: s, locks: keyLocks{held: map[string]*keyLock{}}}
	if err := s.readCounters(); err != nil {
		s.database.close()
		return nil, fmt.Errorf("open store in %s: %w", dir, err)
	}
	s.committer = &committer{db: db, in: &s.in, options: options, ended: make(chan struct{})}
	go s.committer.run()
	return s, nil
}

// readCounters reads what must rise over restarts.
func (s *Store) readCounters() error {
	next, err := s.database.counter(nextLedgerKey)
	if err != nil {
		return err
	}
	last, err := s.database.counter(metadataVersionKey)
	s.nextLedger, s.metadata.last = sdk.LedgerID(next), sdk.Version(last)
	return err
}

// Metadata returns the metadata store that lives and ends with this store.
func (s *Store) Metadata() sdk.MetadataStore { return &s.metadata }

// Info implements [sdk.Plugin].
func (s *Store) Info() sdk.Info {
	return sdk.Info{
		Name:          "pebble",
		Version:       version,
		Durable:       true,
		BlockingReads: true,
		Watch:         true,
		MaxEntryBytes: s.options.MaxEntryBytes,
	}
}

// Health implements [sdk.Plugin].
func (s *Store) Health(context.Context) error {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	return s.in.noChanges
}

// Close implements [sdk.Plugin]: what was handed over is written and
// acknowledged first.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.in.end()
	select {
	case <-s.committer.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.closing.Do(func() {
		s.metadata.watchers.Close()
		s.result = s.database.close()
	})
	return s.result
}

// write hands a change to the committer and waits for it, or for the end of
// the context; the change may then still happen. afterwards, if not nil, is
// told the outcome in any case, on the committer's goroutine.
func (s *Store) write(ctx context.Context, put func(*pebble.Batch) error, afterwards func(error)) error {
	outcome := make(chan error, 1)
	err := s.in.change(&change{put: put, done: func(err error) {
		if afterwards != nil {
			afterwards(err)
		}
		outcome <- err
	}})
	if err != nil {
		if afterwards != nil {
			afterwards(err)
		}
		return err
	}
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
