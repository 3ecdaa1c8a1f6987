package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/readpolicies"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// Settings are the parts that an engine works with. They belong to whoever
// passes them: Close of the engine does not close the stores or the executor.
type Settings struct {
	// Ledgers and Metadata are where everything lives. Required.
	Ledgers  sdk.LedgerStore
	Metadata sdk.MetadataStore
	// Plugin answers for the ledger store's abilities and health. Required.
	Plugin sdk.Plugin
	// Executor runs all work; nil makes a pool of the engine's own, by
	// [Config.Scheduler], which Close of the engine closes.
	Executor scheduling.Executor
	// Policies and Strategies are what topics may choose from; nil means the
	// built-in ones.
	Policies   *readpolicies.Registry
	Strategies *scheduling.Registry
	// Log gets what an operator should hear of; nil means nothing is logged.
	Log *slog.Logger
}

// registries resolve the names of choices.
type registries struct {
	policies   *readpolicies.Registry
	strategies *scheduling.Registry
}

// Engine is all topics over one store. Its methods may be called at the same
// time from many goroutines. After Close every method that can fails with
// [sdk.ErrClosed].
type Engine struct {
	settings Settings
	names    registries
	log      *slog.Logger
	info     sdk.Info // of the store
	cache    *entrycache.Cache
	executor scheduling.Executor
	pool     *scheduling.Pool // the executor, if it is the engine's own

	config      atomic.Pointer[Config] // replaced as a whole by Configure
	configuring sync.Mutex             // one Configure at a time

	topics *topicTable

	// life ends when Close begins: it bounds opens in flight and maintenance.
	life    context.Context
	endLife context.CancelFunc
	// maintained is closed when the maintenance goroutine has ended.
	maintained chan struct{}
	// closing is set by the first Close; closeErr is its result once closed is
	// closed.
	closing  atomic.Bool
	closed   chan struct{}
	closeErr error
}

// Open makes an engine over stores that are open already. It recovers nothing
// yet: a topic is recovered when it is first used. All that is wrong with
// config is reported at once ([ErrInvalidSetting]). ctx bounds Open only.
func Open(ctx context.Context, s Settings, config Config) (*Engine, error) {
	if s.Ledgers == nil || s.Metadata == nil || s.Plugin == nil {
		return nil, fmt.Errorf("engine: %w: Settings.Ledgers, Metadata and Plugin are required", sdk.ErrInvalid)
	}
	e := &Engine{
		settings:   s,
		names:      registries{policies: s.Policies, strategies: s.Strategies},
		log:        s.Log,
		info:       s.Plugin.Info(),
		executor:   s.Executor,
		maintained: make(chan struct{}),
		closed:     make(chan struct{}),
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.names.policies == nil {
		e.names.policies = readpolicies.Builtin()
	}
	if e.names.strategies == nil {
		e.names.strategies = scheduling.Builtin()
	}
	if err := e.check(config); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	known, err := countTopics(ctx, s.Metadata)
	if err != nil {
		return nil, fmt.Errorf("engine: count the topics in the metadata store: %w", err)
	}
	if e.executor == nil {
		pool := config.Scheduler
		if pool.Logger == nil {
			pool.Logger = e.log
		}
		if e.pool, err = scheduling.NewPool(pool); err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		e.executor = e.pool
	}
	if e.cache, err = entrycache.New(config.Cache, e.executor); err != nil {
		return nil, errors.Join(fmt.Errorf("engine: %w", err), e.closePool(ctx))
	}
	e.config.Store(&config)
	e.life, e.endLife = context.WithCancel(context.Background())
	e.topics = newTopicTable(known)
	go e.maintain(e.life)
	return e, nil
}

// ledgerSettings are what every managed ledger of this engine works with.
func (e *Engine) ledgerSettings() managedledger.Settings {
	return managedledger.Settings{
		Ledgers:     e.settings.Ledgers,
		Metadata:    e.settings.Metadata,
		Store:       e.info,
		Executor:    e.executor,
		Cache:       e.cache,
		PublishTime: message.PublishTime,
		Log:         e.log,
	}
}

// check reports all that is wrong with config.
func (e *Engine) check(config Config) error {
	_, err := config.Topic.resolve(e.names)
	return errors.Join(config.Validate(), err)
}

// Configure changes the engine's settings while it runs: those of topics
// without an override take effect on open topics at once, also the cache's and
// the limits; [Config.Scheduler] needs a new engine and must stay as it was.
// If anything is wrong nothing changes. [ErrInvalidSetting], [sdk.ErrClosed].
func (e *Engine) Configure(config Config) error {
	if err := e.alive(); err != nil {
		return err
	}
	e.configuring.Lock()
	defer e.configuring.Unlock()
	if err := e.check(config); err != nil {
		return fmt.Errorf("engine: configure: %w", err)
	}
	if old := e.config.Load(); old.Scheduler != config.Scheduler {
		return fmt.Errorf("engine: configure: %w: the scheduler's settings cannot change while the engine runs, open a new one", ErrInvalidSetting)
	}
	if err := e.cache.Configure(config.Cache); err != nil {
		return fmt.Errorf("engine: configure: %w", err)
	}
	e.config.Store(&config)
	var problems []error
	for _, t := range e.topics.open() {
		problems = append(problems, t.reconfigure())
	}
	return errors.Join(problems...)
}

// Config returns the settings in force.
func (e *Engine) Config() Config { return *e.config.Load() }

// Health reports whether the engine can serve now: nil, or what is wrong. It
// asks the store, within ctx.
func (e *Engine) Health(ctx context.Context) error {
	if err := e.alive(); err != nil {
		return err
	}
	if err := e.settings.Plugin.Health(ctx); err != nil {
		return fmt.Errorf("engine: store %s: %w", e.info.Name, err)
	}
	return nil
}

// alive fails once Close has begun.
func (e *Engine) alive() error {
	if e.life.Err() != nil {
		return fmt.Errorf("engine: %w", sdk.ErrClosed)
	}
	return nil
}

// now is the one clock of the engine.
func now() time.Time { return time.Now() }
