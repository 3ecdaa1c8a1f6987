package managedledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// OpenOptions say what Open may do.
type OpenOptions struct {
	// Create makes the managed ledger if it does not exist; MustCreate fails
	// with ErrExists if it does.
	Create     bool
	MustCreate bool
	// Properties are stored with a log that is made; they do not touch one that
	// exists.
	Properties map[string]string
}

// openAttempts bounds how often an opening begins again because somebody else
// changed the log meanwhile.
const openAttempts = 4

// Open takes a managed ledger over: it fences its former owner, settles the
// ledger that one wrote to, and brings its cursors back. Only that last ledger
// is opened; a new one is made by the first add, and never is a recovered one
// added to. ErrNotFound, ErrExists; sdk.ErrCorrupt if what is stored about the
// log makes no sense or its last ledger is damaged.
func Open(ctx context.Context, name string, s Settings, c Config, o OpenOptions) (*ManagedLedger, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := newManagedLedger(name, s, c)
	err := m.takeOver(ctx, o)
	if err == nil {
		err = m.cursors.recover(ctx)
	}
	if err != nil {
		m.cancel()
		m.cancelWork()
		_ = m.lane.Close(ctx) // nothing was queued that anybody waits for
		m.handles.close(ErrClosed)
		return nil, fmt.Errorf("open managed ledger %q: %w", name, err)
	}
	if len(m.lanes.stored.removed) > 0 {
		m.post(scheduling.KindMetadata, scheduling.TaskFunc(m.sweep))
	}
	m.trimSoon()
	return m, nil
}

func newManagedLedger(name string, s Settings, c Config) *ManagedLedger {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	m := &ManagedLedger{
		name:     name,
		settings: s,
		log:      s.Log.With("managed ledger", name),
		lane:     s.Executor.NewLane(name),
		closed:   make(chan struct{}),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.work, m.cancelWork = context.WithCancel(context.Background())
	m.configured.Store(&c)
	m.intake.limit(c.MaxPendingEntries, c.MaxPendingBytes)
	m.handles.init(m.ctx, s.Ledgers, s.Executor, func() time.Duration { return m.config().StoreTimeout })
	m.cursors.init(m)
	return m
}

// takeOver makes this process the owner. It begins again when somebody else
// changed the record meanwhile: the former owner rolled, say.
func (m *ManagedLedger) takeOver(ctx context.Context, o OpenOptions) (err error) {
	m.lanes.stored.owner = rand.Text()
	for range openAttempts {
		if err = m.tryTakeOver(ctx, o); !errors.Is(err, sdk.ErrVersionConflict) {
			return err
		}
	}
	return fmt.Errorf("other owners keep opening it: %w", err)
}

func (m *ManagedLedger) tryTakeOver(ctx context.Context, o OpenOptions) error {
	stored, version, err := m.load(ctx, o)
	if err != nil {
		return err
	}
	if err := m.recoverLast(ctx, &stored); err != nil {
		return err
	}
	stored.owner = m.lanes.stored.owner
	value, err := stored.encode()
	if err != nil {
		return err
	}
	if version, err = m.settings.Metadata.Put(ctx, recordKey(m.name), value, version); err != nil {
		return err
	}
	m.lanes.stored, m.lanes.version = stored, version
	properties := maps.Clone(stored.properties)
	m.properties.Store(&properties)
	state := StateOpen
	if stored.terminated {
		state = StateTerminated
		m.intake.close(ErrTerminated)
	}
	m.published.Store(&view{
		state:   state,
		ledgers: newSpans(slices.Clone(stored.ledgers)),
		lac:     stored.lac,
		trimmed: stored.trimmed,
	})
	return nil
}

// load reads the record, or makes the one of a new log. What an unfinished
// deletion has left is removed first.
func (m *ManagedLedger) load(ctx context.Context, o OpenOptions) (record, sdk.Version, error) {
	found, err := m.settings.Metadata.Get(ctx, recordKey(m.name))
	if err == nil {
		stored, err := decodeRecord(found.Value)
		switch {
		case err != nil:
			return record{}, 0, err
		case !stored.deleting && o.MustCreate:
			return record{}, 0, ErrExists
		case !stored.deleting:
			return stored, found.Version, nil
		}
		if err := deleteRest(ctx, m.name, &stored, found.Version, m.settings); err != nil {
			return record{}, 0, err
		}
	} else if !errors.Is(err, sdk.ErrKeyNotFound) {
		return record{}, 0, err
	}
	if !o.Create && !o.MustCreate {
		return record{}, 0, ErrNotFound
	}
	return record{
		lac: notTrimmed, trimmed: notTrimmed,
		properties: maps.Clone(o.Properties), created: time.Now(),
	}, sdk.NoVersion, nil
}

// recoverLast settles the ledger that the former owner wrote to, which fences
// that owner. Closed ledgers are taken as the record has them.
func (m *ManagedLedger) recoverLast(ctx context.Context, stored *record) error {
	last := len(stored.ledgers) - 1
	if last < 0 || !stored.ledgers[last].open() {
		return nil
	}
	id := stored.ledgers[last].id
	reader, err := m.settings.Ledgers.Open(ctx, id, sdk.OpenRecover)
	if errors.Is(err, sdk.ErrLedgerNotFound) {
		// Made, written down, and removed again because its owner was closed
		// before it got that far; or lost by the store.
		m.log.Warn("the ledger written to last is not in the store; the log goes on without it", "ledger", id)
		stored.ledgers = stored.ledgers[:last]
		return nil
	}
	if err != nil {
		return fmt.Errorf("recover ledger %d: %w", id, err)
	}
	state := reader.State()
	closeReader(reader)
	if !state.Closed {
		return fmt.Errorf("%w: recover ledger %d: store left it open", sdk.ErrUnavailable, id)
	}
	stored.settle(id, int64(state.LastConfirmed)+1, state.Bytes, time.Now())
	return nil
}
