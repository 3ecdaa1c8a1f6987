package managedledger

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tidemark-engine/tidemark/conformance/scripted"
	"github.com/tidemark-engine/tidemark/engine/entrycache"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
)

// house is a store with a script, and what a managed ledger needs beside it.
type house struct {
	t        testing.TB
	ledgers  *scripted.Ledgers
	metadata *scripted.Metadata
	settings Settings
	config   Config
}

// limit bounds every wait of a test.
const limit = 20 * time.Second

func newHouse(t testing.TB) *house {
	t.Helper()
	pool, err := scheduling.NewPool(scheduling.DefaultPoolConfig())
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseOn(t, pool)
	t.Cleanup(func() {
		if err := pool.Close(h.ctx()); err != nil {
			t.Errorf("close pool: %v", err)
		}
	})
	return h
}

// newHouseOn is newHouse with an executor of the test's choice.
func newHouseOn(t testing.TB, executor scheduling.Executor) *house {
	t.Helper()
	store := memory.Open()
	cache, err := entrycache.New(entrycache.DefaultConfig(), executor)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{
		t:        t,
		ledgers:  &scripted.Ledgers{Inner: store},
		metadata: &scripted.Metadata{Inner: store.Metadata()},
		config:   DefaultConfig(),
	}
	h.config.RetentionBytes, h.config.RetentionTime = -1, -1
	h.settings = Settings{
		Ledgers: h.ledgers, Metadata: h.metadata, Store: store.Info(),
		Executor: executor, Cache: cache,
	}
	return h
}

func (h *house) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	h.t.Cleanup(cancel)
	return ctx
}

// open opens a log, making it if need be. The test closes it, or drops it as a
// crash would.
func (h *house) open(name string) *ManagedLedger {
	h.t.Helper()
	m, err := Open(h.ctx(), name, h.settings, h.config, OpenOptions{Create: true})
	if err != nil {
		h.t.Fatalf("open: %v", err)
	}
	return m
}

func (h *house) close(m *ManagedLedger) {
	h.t.Helper()
	if err := m.Close(h.ctx()); err != nil {
		h.t.Errorf("close: %v", err)
	}
}

// leave closes a log that another owner has taken over, as the first one's
// process would end.
func (h *house) leave(m *ManagedLedger) {
	h.t.Helper()
	if err := m.Close(h.ctx()); err != nil && !errors.Is(err, ErrFenced) {
		h.t.Errorf("close by the former owner: %v", err)
	}
}

// add appends entries one add each and returns where they are.
func (h *house) add(m *ManagedLedger, payloads ...string) []sdk.Position {
	h.t.Helper()
	var all []sdk.Position
	for _, p := range payloads {
		r, err := m.Add(h.ctx(), []byte(p))
		if err != nil {
			h.t.Fatalf("add %q: %v", p, err)
		}
		all = append(all, r.First())
	}
	return all
}

// entries reads all confirmed entries from the store, by ledger, as a reader
// would after everything was evicted.
func (h *house) entries(m *ManagedLedger) []string {
	h.t.Helper()
	var all []string
	v := m.current()
	for i := range v.ledgers {
		n := v.entries(i)
		if n == 0 {
			continue
		}
		type answer struct {
			payloads [][]byte
			err      error
		}
		got := make(chan answer, 1)
		m.handles.get(v.ledgers[i].id, func(r sdk.LedgerReader, _ scheduling.Handle, err error) {
			if err != nil {
				got <- answer{err: err}
				return
			}
			r.Read(h.ctx(), sdk.Range{First: 0, Last: sdk.EntryID(n - 1)}, func(p [][]byte, err error) {
				got <- answer{p, err}
			})
		})
		a := <-got
		if a.err != nil {
			h.t.Fatalf("read ledger %d: %v", v.ledgers[i].id, a.err)
		}
		for _, p := range a.payloads {
			all = append(all, string(p))
		}
	}
	return all
}

// numbered returns n different payloads.
func numbered(from, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("entry %d", from+i)
	}
	return out
}

// later runs f and delivers its end.
func later[T any](f func() T) <-chan T {
	out := make(chan T, 1)
	go func() { out <- f() }()
	return out
}

// got waits for what a channel delivers.
func got[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(limit):
		t.Fatalf("%s: nothing after %s", what, limit)
		panic("unreachable")
	}
}

// eventually waits for a state that background work brings about, stepping by
// the waiters that a change wakes.
func eventually(t testing.TB, m *ManagedLedger, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not after %s; state %s, LAC %s", what, limit, m.State(), m.LastConfirmed())
		}
	}
}
