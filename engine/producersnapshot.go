package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/engine/producerpb"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// producersCursor keeps entries from removal that are not part of a snapshot
// yet. That it exists says that the topic has or had named producers.
const producersCursor = internalCursors + "producers"

// snapshotTimeout bounds the storing of a snapshot in the background.
const snapshotTimeout = 30 * time.Second

// producerSnapshots stores what is known of a topic's producers, now and then,
// so that a recovery reads only the entries behind the last snapshot. The
// metadata store has it under a key of its own; the cursor follows it.
type producerSnapshots struct {
	set      *producers
	topic    *Topic
	metadata sdk.MetadataStore
	key      string

	enabled  atomic.Bool // there are or were named producers
	queued   atomic.Bool // a snapshot in the background is queued or running
	settling atomic.Bool // settle is queued or running in the background
	failing  atomic.Bool // the last one failed, and the log says so

	mu       sync.Mutex   // guards progress and unsaved
	progress sdk.Position // the last stored entry of a named producer
	unsaved  int          // how many since the last snapshot

	// token is held by whoever stores a snapshot; it guards all below.
	token   chan struct{}
	cursor  *managedledger.Cursor
	version sdk.Version
	saved   sdk.Position
	writing []byte // what the last write tried to store
}

func producersKey(topic string) string { return "producers/" + url.PathEscape(topic) }

// deleteProducers removes what is stored of a topic's producers.
func deleteProducers(ctx context.Context, metadata sdk.MetadataStore, topic string) error {
	err := metadata.Delete(ctx, producersKey(topic), sdk.AnyVersion)
	if err != nil && !errors.Is(err, sdk.ErrKeyNotFound) {
		return fmt.Errorf("remove the producers: %w", err)
	}
	return nil
}

// recoverProducers reads what is known of a topic's producers: the snapshot and
// the entries behind it. Storing it again right away shuts out an owner before
// this one.
func recoverProducers(ctx context.Context, t *Topic) (*producers, error) {
	limit := func() int { return t.engine.Config().MaxProducersPerTopic }
	s := newProducers(ledgerLog{t.log}, t.engine.log.With("topic", t.name), limit)
	p := &producerSnapshots{
		set: s, topic: t, metadata: t.engine.settings.Metadata, key: producersKey(t.name),
		token: make(chan struct{}, 1),
	}
	s.snapshots, s.noted, s.doubted = p, p.stored, p.settleLater
	cursor, found := t.log.Cursor(producersCursor)
	if !found {
		return s, nil
	}
	if err := p.load(ctx); err != nil {
		return nil, fmt.Errorf("recover the producers: %w", err)
	}
	if err := p.replay(ctx, p.saved); err != nil {
		return nil, fmt.Errorf("recover the producers: read the entries behind %v: %w", p.saved, err)
	}
	p.cursor = cursor
	p.enabled.Store(true)
	p.progress = t.log.LastConfirmed()
	return s, p.write(ctx)
}

// load reads the snapshot.
func (p *producerSnapshots) load(ctx context.Context) error {
	kept, err := p.metadata.Get(ctx, p.key)
	if errors.Is(err, sdk.ErrKeyNotFound) {
		p.saved = sdk.Position{Entry: sdk.NoEntry}
		p.set.logger.Warn("what was known of the producers is gone, reading all entries instead", "key", p.key)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", p.key, err)
	}
	names, upTo, err := decodeProducers(kept.Value)
	if err != nil {
		return fmt.Errorf("%s: %w; deleting the key makes the next open read all entries instead", p.key, err)
	}
	for _, n := range names {
		p.set.replayed([]byte(n.GetName()), n.GetSequence())
	}
	p.version, p.saved = kept.Version, upTo
	return nil
}

// replay takes in the entries behind after.
func (p *producerSnapshots) replay(ctx context.Context, after sdk.Position) error {
	limit := managedledger.Max{Entries: 10_000, Bytes: 4 << 20}
	from := p.topic.log.Resolve(managedledger.After(after))
	for {
		r, err := p.topic.log.Read(ctx, from, limit)
		if err != nil || len(r.Entries) == 0 {
			return err
		}
		for _, e := range r.Entries {
			if name, sequence, ok := message.Origin(e.Payload); ok {
				p.set.replayed(name, sequence)
			}
		}
		from = r.Next
	}
}

// enable makes the topic one with named producers, before the first of them
// stores anything.
func (p *producerSnapshots) enable(ctx context.Context) error {
	if p.enabled.Load() {
		return nil
	}
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	if p.enabled.Load() {
		return nil
	}
	// One left over by an attempt that did not get as far as the cursor.
	kept, err := p.metadata.Get(ctx, p.key)
	if err != nil && !errors.Is(err, sdk.ErrKeyNotFound) {
		return fmt.Errorf("read %s: %w", p.key, err)
	}
	p.version = kept.Version
	p.progress = p.topic.log.LastConfirmed()
	if err := p.write(ctx); err != nil {
		return err
	}
	p.cursor, err = p.topic.log.OpenCursor(ctx, producersCursor, managedledger.CursorOptions{
		Durable: true, From: managedledger.After(p.saved),
	})
	if err != nil {
		return err
	}
	p.enabled.Store(true)
	return nil
}

func (p *producerSnapshots) lock(ctx context.Context) error {
	select {
	case p.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *producerSnapshots) unlock() { <-p.token }

// stored records that n more entries, up to last, are stored.
func (p *producerSnapshots) stored(last sdk.Position, n int) {
	p.mu.Lock()
	rolled := last.Ledger != p.progress.Ledger
	p.progress = last
	p.unsaved += n
	due := rolled || p.unsaved >= p.topic.engine.Config().ProducerSnapshotEntries
	p.mu.Unlock()
	if due {
		p.queue()
	}
}

// save stores a snapshot if there is anything new.
func (p *producerSnapshots) save(ctx context.Context) error {
	if !p.enabled.Load() {
		return nil
	}
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	if upTo, _ := p.accounted(); !upTo.After(p.saved) {
		return nil
	}
	if err := p.write(ctx); err != nil {
		return err
	}
	if p.topic.fate.Load() != fateOpen || !p.saved.After(p.cursor.MarkDelete()) {
		return nil
	}
	return p.cursor.AcknowledgeUpTo(ctx, p.saved)
}

// write stores a snapshot. It is called with the token held, or by who is the
// only one.
func (p *producerSnapshots) write(ctx context.Context) error {
	upTo, unsaved := p.accounted()
	value, err := encodeProducers(p.set.byUse(), upTo)
	if err != nil {
		return err
	}
	version, err := p.put(ctx, value)
	if err != nil {
		return fmt.Errorf("store what is known of the producers: %w", err)
	}
	p.version, p.saved = version, upTo
	p.mu.Lock()
	p.unsaved -= unsaved
	p.mu.Unlock()
	return nil
}

// put writes the value. A version that this owner itself made, by a write that
// it never got an answer to, is its own; any other means that the topic has
// another owner.
func (p *producerSnapshots) put(ctx context.Context, value []byte) (sdk.Version, error) {
	tried := p.writing
	p.writing = value
	version, err := p.metadata.Put(ctx, p.key, value, p.version)
	if !errors.Is(err, sdk.ErrVersionConflict) {
		return version, err
	}
	kept, getErr := p.metadata.Get(ctx, p.key)
	if getErr == nil && tried != nil && bytes.Equal(kept.Value, tried) {
		return p.metadata.Put(ctx, p.key, value, kept.Version)
	}
	p.topic.setFate(fateLost)
	return 0, fmt.Errorf("%w: %w", ErrOwnerLost, err)
}

// queue has a snapshot stored in the background, one at a time.
func (p *producerSnapshots) queue() {
	if !p.queued.CompareAndSwap(false, true) {
		return
	}
	if err := p.topic.engine.executor.Go(scheduling.TaskFunc(p.saveQueued)); err != nil {
		p.queued.Store(false) // maintenance comes by again
	}
}

func (p *producerSnapshots) saveQueued() {
	defer p.queued.Store(false)
	ctx, cancel := context.WithTimeout(p.topic.engine.life, snapshotTimeout)
	defer cancel()
	err := p.save(ctx)
	switch {
	case err == nil:
		p.failing.Store(false)
	case ctx.Err() == nil && !p.failing.Swap(true):
		p.set.logger.Warn("what is known of the producers could not be stored, trying again", "error", err)
	}
}

// maintain stores a snapshot when one is due: also when the entries of others
// have taken the end of the log far beyond the last one.
func (p *producerSnapshots) maintain() {
	if !p.enabled.Load() {
		return
	}
	p.mu.Lock()
	due := p.unsaved >= p.topic.engine.Config().ProducerSnapshotEntries
	p.mu.Unlock()
	if due || p.cursor.Backlog() >= int64(p.topic.engine.Config().ProducerSnapshotEntries) {
		p.queue()
	}
}

// encodeProducers makes a snapshot of records, in their order.
func encodeProducers(records []*producerRecord, upTo sdk.Position) ([]byte, error) {
	snapshot := &producerpb.Producers{Ledger: int64(upTo.Ledger), Entry: int64(upTo.Entry)}
	for _, r := range records {
		if stored, known := r.lastStored(); known {
			snapshot.Producers = append(snapshot.Producers, &producerpb.Producer{Name: r.name, Sequence: stored})
		}
	}
	return proto.Marshal(snapshot)
}

// decodeProducers reads a snapshot. [sdk.ErrCorrupt].
func decodeProducers(value []byte) ([]*producerpb.Producer, sdk.Position, error) {
	snapshot := &producerpb.Producers{}
	if err := proto.Unmarshal(value, snapshot); err != nil {
		return nil, sdk.Position{}, fmt.Errorf("%w: %w", sdk.ErrCorrupt, err)
	}
	upTo := sdk.Position{Ledger: sdk.LedgerID(snapshot.GetLedger()), Entry: sdk.EntryID(snapshot.GetEntry())}
	if upTo.Ledger < 0 || upTo.Entry < sdk.NoEntry {
		return nil, sdk.Position{}, fmt.Errorf("%w: the position is %v", sdk.ErrCorrupt, upTo)
	}
	for _, p := range snapshot.GetProducers() {
		if err := CheckName("producer", p.GetName()); err != nil {
			return nil, sdk.Position{}, fmt.Errorf("%w: %w", sdk.ErrCorrupt, err)
		}
	}
	return snapshot.GetProducers(), upTo, nil
}
