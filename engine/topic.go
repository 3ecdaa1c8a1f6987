package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
)

// Topic is one open topic: a log, the cursors that read it and the producers
// that are known by name. Its methods may be called at the same time from many
// goroutines. It stays open until the engine closes, the topic is deleted, or
// another process takes it over; nobody closes a Topic.
//
// After the engine's Close every method that can fails with [sdk.ErrClosed];
// after DeleteTopic with [ErrTopicNotFound]; after another process has opened
// the topic with [ErrOwnerLost], and [Engine.Topic] opens it again.
type Topic struct {
	engine *Engine
	name   string
	log    *managedledger.ManagedLedger
	fate   atomic.Uint32

	configuring sync.Mutex // held while the settings in force are looked up and applied
	// changing is held, by its one token, while overrides and properties are
	// changed.
	changing chan struct{}
	// overrides are the topic's own settings; the map is never changed.
	overrides atomic.Pointer[map[string]string]

	producers *producers
}

// The fates of a topic.
const (
	fateOpen uint32 = iota
	fateClosed
	fateLost // another process owns the log
	fateDeleted
)

// newTopic makes a topic of a log that was just opened, and closes the log if
// it cannot.
func (e *Engine) newTopic(ctx context.Context, name string, m *managedledger.ManagedLedger) (*Topic, error) {
	t := &Topic{engine: e, name: name, log: m, changing: make(chan struct{}, 1)}
	overrides := overridesIn(m.Properties())
	t.overrides.Store(&overrides)
	if len(overrides) > 0 {
		if err := t.reconfigure(); err != nil {
			return nil, errors.Join(err, m.Close(ctx))
		}
	}
	var err error
	if t.producers, err = recoverProducers(ctx, t); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	return t, nil
}

// Name returns the topic's name.
func (t *Topic) Name() string { return t.name }

// Overrides returns the topic's own settings, text by key.
func (t *Topic) Overrides() map[string]string { return maps.Clone(*t.overrides.Load()) }

// SetOverrides changes the topic's own settings: each key gets the text, or, if
// the text is empty, the engine's setting again. The change is stored with the
// topic and takes effect at once, also for reads in flight from their next
// operation on. If anything is wrong, all of it is reported and nothing
// changes. [ErrInvalidSetting].
func (t *Topic) SetOverrides(ctx context.Context, changes map[string]string) error {
	select {
	case t.changing <- struct{}{}:
		defer func() { <-t.changing }()
	case <-ctx.Done():
		return t.fail("change settings", ctx.Err())
	}
	next := change(*t.overrides.Load(), changes)
	config, err := t.engine.Config().Topic.With(next)
	if err == nil {
		_, err = config.resolve(t.engine.names)
	}
	if err != nil {
		return t.fail("change settings", err)
	}
	if err := t.log.SetProperties(ctx, withOverrides(t.log.Properties(), next)); err != nil {
		return t.fail("change settings", err)
	}
	t.overrides.Store(&next)
	return t.fail("change settings", t.reconfigure())
}

// inForce returns the settings in force: the engine's with the topic's own. An
// override that this version or composition does not know is left out, and
// logged: a topic must stay readable.
func (t *Topic) inForce() (TopicConfig, managedledger.Config, error) {
	config := t.engine.Config().Topic
	for key, text := range *t.overrides.Load() {
		next, err := config.With(map[string]string{key: text})
		if err == nil {
			_, err = next.resolve(t.engine.names)
		}
		if err != nil {
			t.engine.log.Warn("a topic's own setting is ignored", "topic", t.name, "error", err)
			continue
		}
		config = next
	}
	resolved, err := config.resolve(t.engine.names)
	return config, resolved, err
}

// reconfigure gives the log the settings in force, the latest of them whoever
// else does so at the same time.
func (t *Topic) reconfigure() error {
	t.configuring.Lock()
	defer t.configuring.Unlock()
	_, config, err := t.inForce()
	if err == nil {
		err = t.log.Configure(config)
	}
	return t.fail("configure", err)
}

// Terminate ends writing for ever, after the adds handed over before; the topic
// stays readable. It returns the last position. Terminating again gives the
// same answer.
func (t *Topic) Terminate(ctx context.Context) (sdk.Position, error) {
	p, err := t.log.Terminate(ctx)
	return p, t.fail("terminate", err)
}

// Truncate removes all entries but those of the open ledger, and moves cursors
// that stood in what was removed.
func (t *Topic) Truncate(ctx context.Context) error {
	if err := t.producers.snapshots.save(ctx); err != nil {
		return t.fail("truncate", err)
	}
	return t.fail("truncate", t.log.Truncate(ctx))
}

// Trim removes the ledgers that no durable cursor needs and retention does not
// keep, now instead of at the next maintenance, and returns how many.
func (t *Topic) Trim(ctx context.Context) (removed int, err error) {
	if err := t.producers.snapshots.save(ctx); err != nil {
		return 0, t.fail("trim", err)
	}
	removed, err = t.log.Trim(ctx)
	return removed, t.fail("trim", err)
}

// Roll closes the open ledger, if it holds anything, and goes on in a new one.
func (t *Topic) Roll(ctx context.Context) error {
	return t.fail("roll", t.log.Roll(ctx))
}

// close ends the topic: adds are answered, reads end, and what is known of its
// producers is stored.
func (t *Topic) close(ctx context.Context) error {
	if !t.lost() {
		t.setFate(fateClosed)
	}
	err := t.log.Close(ctx)
	if t.fate.Load() == fateClosed {
		err = errors.Join(err, t.producers.snapshots.save(ctx))
	}
	if errors.Is(err, ErrOwnerLost) {
		return nil // nothing of it is this engine's to close
	}
	if err != nil {
		return fmt.Errorf("topic %q: close: %w", t.name, err)
	}
	return nil
}

// setFate records how the topic ended; the first end counts.
func (t *Topic) setFate(fate uint32) { t.fate.CompareAndSwap(fateOpen, fate) }

// usable fails if the topic has ended.
func (t *Topic) usable() error {
	switch t.fate.Load() {
	case fateOpen:
		return nil
	case fateLost:
		return ErrOwnerLost
	case fateDeleted:
		return ErrTopicNotFound
	}
	return sdk.ErrClosed
}

// lost says whether the log has another owner, or was deleted by one, so that
// the topic has to be looked up again.
func (t *Topic) lost() bool {
	switch t.log.State() {
	case managedledger.StateFenced:
		t.setFate(fateLost)
	case managedledger.StateDeleting:
		t.setFate(fateDeleted)
	}
	fate := t.fate.Load()
	return fate == fateLost || fate == fateDeleted
}

// fail says where an error happened and makes it the one that the topic's end
// stands for; nil stays nil.
func (t *Topic) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sdk.ErrClosed) {
		switch t.fate.Load() {
		case fateDeleted:
			return fmt.Errorf("topic %q: %s: %w: it was deleted", t.name, doing, ErrTopicNotFound)
		case fateLost:
			return fmt.Errorf("topic %q: %s: %w", t.name, doing, ErrOwnerLost)
		}
	}
	return fmt.Errorf("topic %q: %s: %w", t.name, doing, err)
}
