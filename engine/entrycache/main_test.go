package entrycache

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/scheduling"
	"github.com/tidemark-engine/tidemark/sdk"
	"go.uber.org/goleak"
)

// TestMain looks for goroutines left behind. Those that run now belong to
// packages that were imported, and stay.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// goroutines is an executor that starts a goroutine for each task.
type goroutines struct{}

func (goroutines) NewLane(string) scheduling.Lane { panic("the cache uses no lane") }

func (goroutines) Go(task scheduling.Task) error {
	go task.Run()
	return nil
}

// closedExecutor takes no task.
type closedExecutor struct{ goroutines }

func (closedExecutor) Go(scheduling.Task) error { return scheduling.ErrClosed }

func newCache(t testing.TB, change func(*Config)) *Cache {
	t.Helper()
	config := DefaultConfig()
	if change != nil {
		change(&config)
	}
	c, err := New(config, goroutines{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// payload is what entry of ledger holds in all tests.
func payload(ledger sdk.LedgerID, entry sdk.EntryID) []byte {
	return []byte(fmt.Sprintf("%d:%d%s", ledger, entry, strings.Repeat(".", int(entry)%7)))
}

func payloads(ledger sdk.LedgerID, first, last sdk.EntryID) [][]byte {
	var all [][]byte
	for e := first; e <= last; e++ {
		all = append(all, payload(ledger, e))
	}
	return all
}

// wrong says how got differs from the entries first onwards.
func wrong(got [][]byte, ledger sdk.LedgerID, first sdk.EntryID) string {
	for i := range got {
		if want := payload(ledger, first+sdk.EntryID(i)); string(got[i]) != string(want) {
			return fmt.Sprintf("entry %d is %q, want %q", first+sdk.EntryID(i), got[i], want)
		}
	}
	return ""
}

// storage is a ledger whose reads end when the test says so.
type storage struct {
	id    sdk.LedgerID
	reads chan *storageRead
}

type storageRead struct {
	ctx  context.Context
	what sdk.Range
	done func([][]byte, error)
	id   sdk.LedgerID
}

func newStorage(id sdk.LedgerID) *storage {
	return &storage{id: id, reads: make(chan *storageRead, 1000)}
}

func (s *storage) ID() sdk.LedgerID       { return s.id }
func (s *storage) State() sdk.LedgerState { return sdk.LedgerState{} }
func (s *storage) Close() error           { return nil }

func (s *storage) Read(ctx context.Context, r sdk.Range, done func([][]byte, error)) {
	s.reads <- &storageRead{ctx, r, done, s.id}
}

// one returns the one read that was started.
func (s *storage) one(t *testing.T) *storageRead {
	t.Helper()
	if len(s.reads) != 1 {
		t.Fatalf("%d storage reads were started, want 1", len(s.reads))
	}
	return <-s.reads
}

// all ends r with everything it asked for.
func (r *storageRead) all() { r.done(payloads(r.id, r.what.First, r.what.Last), nil) }

// upTo ends r with the entries to last only.
func (r *storageRead) upTo(last sdk.EntryID) { r.done(payloads(r.id, r.what.First, last), nil) }

// outcome is how one read of the cache ended.
type outcome struct {
	calls    int
	payloads [][]byte
	err      error
}

func here(task scheduling.Task) error {
	task.Run()
	return nil
}

// read starts a read whose outcome can be looked at at any time, as long as
// it ends on goroutines that the test waits for.
func read(ctx context.Context, c *Cache, s sdk.LedgerReader, first, last sdk.EntryID, bytes int64) *outcome {
	o := &outcome{}
	c.Read(ctx, ReadRequest{Reader: s, Range: sdk.Range{First: first, Last: last}, Keep: true, EstimatedBytes: bytes}, here, o.end)
	return o
}

func (o *outcome) end(payloads [][]byte, err error) {
	o.calls++
	o.payloads, o.err = payloads, err
}

// want checks that the read ended once, with count entries from first.
func (o *outcome) want(t *testing.T, ledger sdk.LedgerID, first sdk.EntryID, count int) {
	t.Helper()
	if o.calls != 1 || o.err != nil || len(o.payloads) != count {
		t.Fatalf("ended %d times with %d entries and error %v, want once with %d", o.calls, len(o.payloads), o.err, count)
	}
	if w := wrong(o.payloads, ledger, first); w != "" {
		t.Fatal(w)
	}
}
