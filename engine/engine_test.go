package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, ignoreIdle()...) }

// ignoreIdle excuses the goroutines that libraries start when they are imported.
func ignoreIdle() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
	}
}

// store is a ledger and a metadata store that outlive engines.
type store interface {
	sdk.LedgerStore
	sdk.Plugin
	Metadata() sdk.MetadataStore
}

// stores returns one of each built-in store, closed at the end of the test.
func stores(t *testing.T) map[string]store {
	t.Helper()
	disk, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]store{"memory": memory.Open(), "pebble": disk}
	t.Cleanup(func() {
		for name, s := range all {
			if err := s.Close(context.Background()); err != nil {
				t.Errorf("close %s: %v", name, err)
			}
		}
	})
	return all
}

// life is what stands between one engine and a store: when it ends, the engine
// is as good as killed, and the store goes on.
type life struct {
	store
	over atomic.Bool
}

func (l *life) check() error {
	if l.over.Load() {
		return fmt.Errorf("this process is dead: %w", sdk.ErrClosed)
	}
	return nil
}

func (l *life) Create(ctx context.Context, o sdk.CreateOptions) (sdk.LedgerWriter, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	w, err := l.store.Create(ctx, o)
	return &lifeWriter{w, l}, err
}

func (l *life) Open(ctx context.Context, id sdk.LedgerID, mode sdk.OpenMode) (sdk.LedgerReader, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.store.Open(ctx, id, mode)
}

func (l *life) Delete(ctx context.Context, id sdk.LedgerID) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.store.Delete(ctx, id)
}

func (l *life) Metadata() sdk.MetadataStore { return &lifeMetadata{l.store.Metadata(), l} }

type lifeWriter struct {
	sdk.LedgerWriter
	life *life
}

func (w *lifeWriter) Append(b sdk.Batch) {
	if err := w.life.check(); err != nil {
		b.Done(b.First-1, err)
		return
	}
	w.LedgerWriter.Append(b)
}

func (w *lifeWriter) Seal(ctx context.Context) (sdk.EntryID, error) {
	if err := w.life.check(); err != nil {
		return sdk.NoEntry, err
	}
	return w.LedgerWriter.Seal(ctx)
}

type lifeMetadata struct {
	sdk.MetadataStore
	life *life
}

func (m *lifeMetadata) Put(ctx context.Context, key string, value []byte, v sdk.Version) (sdk.Version, error) {
	if err := m.life.check(); err != nil {
		return 0, err
	}
	return m.MetadataStore.Put(ctx, key, value, v)
}

func (m *lifeMetadata) Delete(ctx context.Context, key string, v sdk.Version) error {
	if err := m.life.check(); err != nil {
		return err
	}
	return m.MetadataStore.Delete(ctx, key, v)
}

// process is an engine that can be killed.
type process struct {
	*engine.Engine
	life *life
}

// start opens an engine over s and closes it at the end of the test.
func start(t testing.TB, s store, changes ...func(*engine.Config)) *process {
	t.Helper()
	config := engine.DefaultConfig()
	for _, change := range changes {
		change(&config)
	}
	l := &life{store: s}
	e, err := engine.Open(t.Context(), engine.Settings{
		Ledgers: l, Metadata: l.Metadata(), Plugin: l, Log: slog.New(slog.NewTextHandler(testLog{t}, nil)),
	}, config)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{e, l}
	t.Cleanup(func() { p.stop(t) })
	return p
}

// kill ends the engine's effect on the store at once, as the end of its process
// would.
func (p *process) kill() { p.life.over.Store(true) }

// stop closes the engine, which may fail only if it was killed.
func (p *process) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Close(ctx); err != nil && !p.life.over.Load() {
		t.Errorf("close: %v", err)
	}
}

// testLog writes to a test's log.
type testLog struct{ t testing.TB }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Logf("%s", line)
	return len(line), nil
}

func create(t testing.TB, e *process, name string, overrides map[string]string) *engine.Topic {
	t.Helper()
	topic, err := e.CreateTopic(t.Context(), name, engine.TopicOptions{Overrides: overrides})
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

func open(t testing.TB, e *process, name string) *engine.Topic {
	t.Helper()
	topic, err := e.Topic(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

func messages(texts ...string) []message.Message {
	msgs := make([]message.Message, len(texts))
	for i, text := range texts {
		msgs[i].Payload = []byte(text)
	}
	return msgs
}

func appendTexts(t testing.TB, topic *engine.Topic, texts ...string) engine.Appended {
	t.Helper()
	a, err := topic.Append(t.Context(), messages(texts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// texts reads all payloads that a topic keeps.
func texts(t testing.TB, topic *engine.Topic) []string {
	t.Helper()
	var all []string
	from := topic.Resolve(managedledger.Earliest())
	for {
		r, err := topic.Read(t.Context(), from, managedledger.Max{Entries: 100, Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Entries) == 0 {
			return all
		}
		for _, e := range r.Entries {
			m, err := message.Decode(e.Payload)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(m.Payload))
		}
		from = r.Next
	}
}

func isAll(t *testing.T, what string, err error, sentinels ...error) {
	t.Helper()
	for _, sentinel := range sentinels {
		if !errors.Is(err, sentinel) {
			t.Errorf("%s: %v, want one that is %q", what, err, sentinel)
		}
	}
}
