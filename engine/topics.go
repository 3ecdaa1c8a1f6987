package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
)

// TopicOptions are the wishes of the creator of a topic.
type TopicOptions struct {
	// Overrides are the topic's own settings, text by key, see [SettingKeys].
	Overrides map[string]string
}

// CreateTopic returns the topic of that name with those options, and makes it
// if there is none; so creating twice is the same as once. If there is one
// with other overrides it fails with [ErrTopicExists] and changes nothing.
// [ErrInvalidName], [ErrInvalidSetting], [ErrTopicLimit], and the errors of
// the store.
func (e *Engine) CreateTopic(ctx context.Context, name string, o TopicOptions) (*Topic, error) {
	overrides := change(nil, o.Overrides)
	config, err := e.Config().Topic.With(overrides)
	if err == nil {
		_, err = config.resolve(e.names)
	}
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", name, err)
	}
	t, err := e.topic(ctx, name, &TopicOptions{Overrides: overrides})
	if err != nil {
		return nil, err
	}
	if have := t.Overrides(); !maps.Equal(have, overrides) {
		return nil, fmt.Errorf("topic %q: %w: it has %s, asked for was %s; change those of the topic that is there", name, ErrTopicExists, spell(have), spell(overrides))
	}
	return t, nil
}

// Topic returns the topic of that name and opens it, with recovery, if this is
// its first use. Callers at the same time share one open; after one that failed
// the next caller tries again. [ErrTopicNotFound], [ErrInvalidName], and the
// errors of the store. When ctx ends the open goes on for the next caller.
func (e *Engine) Topic(ctx context.Context, name string) (*Topic, error) {
	return e.topic(ctx, name, nil)
}

// topic returns the topic of that name; create is nil unless it may be made.
func (e *Engine) topic(ctx context.Context, name string, create *TopicOptions) (*Topic, error) {
	if err := CheckName("topic", name); err != nil {
		return nil, err
	}
	for {
		slot, mine, err := e.topics.find(name)
		if err != nil {
			return nil, fmt.Errorf("topic %q: %w", name, err)
		}
		if mine {
			go e.fill(slot, create) // ends when the open does, which Close cuts short
		}
		if err := slot.wait(ctx); err != nil {
			return nil, err
		}
		switch {
		case slot.topic != nil:
			return slot.topic, nil
		case !mine && create != nil && errors.Is(slot.err, ErrTopicNotFound):
			// Somebody else looked for it, or deleted it: now it is ours to make.
		default:
			return nil, slot.err
		}
	}
}

// fill opens the topic of a slot, and makes it if create is given and there is
// none.
func (e *Engine) fill(slot *topicSlot, create *TopicOptions) {
	before := e.config.Load()
	t, err := e.openTopic(e.life, slot, create)
	if err != nil {
		if e.life.Err() != nil {
			err = fmt.Errorf("%w: %w", sdk.ErrClosed, err)
		}
		if errors.Is(err, managedledger.ErrNotFound) {
			err = ErrTopicNotFound // the caller knows of topics, not of what is behind them
		} else {
			err = fmt.Errorf("open: %w", err)
		}
		err = fmt.Errorf("topic %q: %w", slot.name, err)
	}
	e.topics.settle(slot, t, err)
	if t != nil && e.config.Load() != before { // Configure did not meet it
		if err := t.reconfigure(); err != nil {
			e.log.Warn("new settings are not in force", "error", err)
		}
	}
}

func (e *Engine) openTopic(ctx context.Context, slot *topicSlot, create *TopicOptions) (*Topic, error) {
	if slot.former != nil {
		if err := slot.former.close(ctx); err != nil {
			e.log.Warn("closing a lost topic", "topic", slot.name, "error", err)
		}
	}
	config, err := e.Config().Topic.resolve(e.names)
	if err != nil {
		return nil, err
	}
	m, err := managedledger.Open(ctx, slot.name, e.ledgerSettings(), config, managedledger.OpenOptions{})
	if errors.Is(err, ErrTopicNotFound) && create != nil {
		if !e.topics.reserve(e.Config().MaxTopics) {
			return nil, fmt.Errorf("%w: the limit is %d, delete some or raise max-topics", ErrTopicLimit, e.Config().MaxTopics)
		}
		m, err = managedledger.Open(ctx, slot.name, e.ledgerSettings(), config, managedledger.OpenOptions{
			Create: true, Properties: withOverrides(nil, create.Overrides),
		})
		if err != nil {
			e.topics.release()
		}
	}
	if err != nil {
		return nil, err
	}
	return e.newTopic(ctx, slot.name, m)
}

// Topics returns the names of up to limit topics behind after, in the order of
// their names in the metadata store; fewer than limit means that there are no
// more. To begin, pass after = "". It opens none of them.
func (e *Engine) Topics(ctx context.Context, after string, limit int) ([]string, error) {
	if err := e.alive(); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("engine: list topics: %w: limit %d, it is at least 1", sdk.ErrInvalid, limit)
	}
	names, err := managedledger.Names(ctx, e.settings.Metadata, after, limit)
	if err != nil {
		return nil, fmt.Errorf("engine: list topics: %w", err)
	}
	return names, nil
}

// countTopics returns how many topics the metadata store describes.
func countTopics(ctx context.Context, metadata sdk.MetadataStore) (int, error) {
	const page = 1000
	total, after := 0, ""
	for {
		names, err := managedledger.Names(ctx, metadata, after, page)
		if err != nil {
			return 0, err
		}
		total += len(names)
		if len(names) < page {
			return total, nil
		}
		after = names[len(names)-1]
	}
}

// DeleteTopic removes a topic with its entries, cursors and producers; one that
// does not exist is removed already. Whoever still holds it gets
// [ErrTopicNotFound] from then on, and its waiting reads end. If it fails, also
// because ctx ended, deleting again goes on with it.
func (e *Engine) DeleteTopic(ctx context.Context, name string) error {
	if err := CheckName("topic", name); err != nil {
		return err
	}
	for {
		slot, mine, err := e.topics.claim(name)
		if err != nil {
			return fmt.Errorf("topic %q: delete: %w", name, err)
		}
		if !mine {
			if err := slot.wait(ctx); err != nil {
				return err
			}
			continue
		}
		err = e.delete(ctx, slot)
		if err != nil {
			err = fmt.Errorf("topic %q: delete: %w", name, err)
			e.topics.settle(slot, nil, err)
			return err
		}
		e.topics.settle(slot, nil, fmt.Errorf("topic %q: %w: it was deleted", name, ErrTopicNotFound))
		return nil
	}
}

func (e *Engine) delete(ctx context.Context, slot *topicSlot) error {
	if former := slot.former; former != nil {
		former.topic.setFate(fateDeleted)
		if err := former.close(ctx); err != nil {
			e.log.Warn("closing a topic to delete it", "topic", slot.name, "error", err)
		}
	}
	err := managedledger.Delete(ctx, slot.name, e.ledgerSettings())
	switch {
	case err == nil:
		e.topics.release()
	case !errors.Is(err, ErrTopicNotFound):
		return err
	}
	return deleteProducers(ctx, e.settings.Metadata, slot.name)
}
