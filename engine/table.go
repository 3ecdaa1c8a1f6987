package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tidemark-engine/tidemark/sdk"
)

// topicTable knows which topics are open, opening or being deleted, so that
// each is one of these once.
type topicTable struct {
	mu      sync.Mutex            // guards all below; nobody blocks while holding it
	slots   map[string]*topicSlot // by topic name
	known   int                   // how many topics exist, as far as this engine knows
	closing bool
	retired retired // what topics did that left the table
}

// topicSlot is the place of one topic: first unsettled, while somebody opens or
// deletes it, then settled, for good. A slot without a topic leaves the table
// when it is settled.
type topicSlot struct {
	name string
	// former was in the table before; whoever fills this slot ends it first.
	former *topicSlot
	// settled is closed once topic and err are what they will be.
	settled chan struct{}
	topic   *Topic
	err     error
}

func newTopicTable(known int) *topicTable {
	return &topicTable{slots: map[string]*topicSlot{}, known: known}
}

// find returns the slot of name. If there is none, or its topic has lost its
// log, there is a new slot and mine is true: the caller fills it.
func (t *topicTable) find(name string) (slot *topicSlot, mine bool, err error) {
	return t.take(name, func(s *topicSlot) bool { return s.topic.lost() })
}

// claim returns a new slot for name, whatever was there, and mine is true; or,
// while somebody else is at it, that one's slot.
func (t *topicTable) claim(name string) (slot *topicSlot, mine bool, err error) {
	return t.take(name, func(*topicSlot) bool { return true })
}

func (t *topicTable) take(name string, replace func(settled *topicSlot) bool) (*topicSlot, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil, false, fmt.Errorf("engine: %w", sdk.ErrClosed)
	}
	former := t.slots[name]
	if former != nil && (!former.isSettled() || !replace(former)) {
		return former, false, nil
	}
	if former != nil && former.topic != nil {
		t.retired.add(former.topic)
	}
	slot := &topicSlot{name: name, former: former, settled: make(chan struct{})}
	t.slots[name] = slot
	return slot, true, nil
}

// settle ends the filling of a slot.
func (t *topicTable) settle(slot *topicSlot, topic *Topic, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot.topic, slot.err, slot.former = topic, err, nil
	if topic == nil {
		delete(t.slots, slot.name)
	}
	close(slot.settled)
}

// reserve counts one more topic unless there are limit of them.
func (t *topicTable) reserve(limit int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known >= limit {
		return false
	}
	t.known++
	return true
}

// release counts one topic less.
func (t *topicTable) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = max(t.known-1, 0)
}

// open returns the topics that are open.
func (t *topicTable) open() []*Topic {
	open, _ := t.all()
	return open
}

// all returns the topics that are open, and the sums over those that were.
func (t *topicTable) all() ([]*Topic, retired) {
	t.mu.Lock()
	defer t.mu.Unlock()
	open := make([]*Topic, 0, len(t.slots))
	for _, slot := range t.slots {
		if slot.isSettled() {
			open = append(open, slot.topic)
		}
	}
	return open, t.retired
}

// count returns how many topics there are, as far as this engine knows.
func (t *topicTable) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known
}

// drain refuses every further slot and returns those there are.
func (t *topicTable) drain() []*topicSlot {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = true
	return slices.Collect(maps.Values(t.slots))
}

func (s *topicSlot) isSettled() bool {
	select {
	case <-s.settled:
		return true
	default:
		return false
	}
}

// wait returns when the slot is settled or ctx ends.
func (s *topicSlot) wait(ctx context.Context) error {
	select {
	case <-s.settled:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("topic %q: waiting for it to open: %w", s.name, ctx.Err())
	}
}

// close closes the slot's topic, if it gets one.
func (s *topicSlot) close(ctx context.Context) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	if s.topic == nil {
		return nil
	}
	return s.topic.close(ctx)
}
