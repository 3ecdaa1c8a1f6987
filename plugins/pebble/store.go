package pebble

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// version is the version of Pebble that this package is made for.
const version = "2.1.7"

// Store implements [sdk.LedgerStore] and [sdk.Plugin]; its metadata store is
// [Store.Metadata]. It needs no framework and has no global state.
//
// Its goroutines are the committer and what Pebble runs; Close ends them.
type Store struct {
	options   Options
	dir       *directory
	volume    volume
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
//
// A directory that another process has open is [sdk.ErrUnavailable] and the
// message says who; one that holds something else [sdk.ErrInvalid]; one from a
// newer version [sdk.ErrUnsupported]; a damaged one [sdk.ErrCorrupt]. On a full
// disk a store that exists opens for reading, and for writing once there is
// room; a new one is [sdk.ErrFull].
func Open(dir string, options Options) (*Store, error) {
	s, err := open(dir, options.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open store in %s: %w", dir, err)
	}
	return s, nil
}

func open(path string, options Options) (*Store, error) {
	dir, err := openDirectory(options.FS, path)
	if err != nil {
		return nil, err
	}
	s := newStore(dir, options)
	s.volume.prepare()
	if err := s.committer.keeper.open(); err != nil {
		return nil, errors.Join(err, dir.close())
	}
	if err := s.readCounters(); err != nil {
		return nil, errors.Join(err, s.database.close(), dir.close())
	}
	s.committer.keeper.look()
	go s.committer.run()
	return s, nil
}

func newStore(dir *directory, options Options) *Store {
	s := &Store{options: options, dir: dir, ledgers: map[sdk.LedgerID]*ledger{}}
	s.volume = volume{fs: options.FS, dir: dir, log: options.Logger, reserve: options.ReserveBytes, tell: s.in.kick}
	s.in = intake{
		maxEntryBytes:   options.MaxEntryBytes,
		maxPendingBytes: options.MaxPendingBytes,
		wake:            make(chan struct{}, 1),
	}
	s.metadata = metadata{store: s, locks: keyLocks{held: map[string]*keyLock{}}}
	s.committer = &committer{store: s, in: &s.in, keeper: keeper{
		store: s, reclaim: reclaimer{store: s}, lookAfter: min(lookBytes, int(options.MemTableBytes/4)),
	}, ended: make(chan struct{})}
	return s
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

// Health implements [sdk.Plugin]. While adds are refused, because the disk is
// full or the database failed, it says why; reads may still work.
func (s *Store) Health(context.Context) error { return s.in.door() }

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
		sound := s.committer.keeper.failure == nil
		if sound && !s.volume.full.Load() {
			limited, cancel := context.WithTimeout(ctx, settleLimit)
			defer cancel()
			guard := s.committer.keeper.guard
			s.database.settle(limited, func() bool { return s.volume.full.Load() || guard.err() != nil })
		}
		err := s.database.close()
		if !sound {
			err = nil // What failed was told to those concerned.
		}
		s.result = errors.Join(err, s.dir.close())
	})
	return s.result
}

// write hands a change to the committer and waits for it, or for the end of
// the context; the change may then still happen. afterwards, if not nil, is
// told the outcome in any case, on the committer's goroutine.
func (s *Store) write(ctx context.Context, put func(*pebble.Batch) error, afterwards func(error)) error {
	return s.hand(ctx, &change{put: put, done: afterwards})
}

func (s *Store) hand(ctx context.Context, c *change) error {
	outcome := make(chan error, 1)
	afterwards := c.done
	c.done = func(err error) {
		if afterwards != nil {
			afterwards(err)
		}
		outcome <- err
	}
	if err := s.in.change(c); err != nil {
		c.done(err)
	}
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
