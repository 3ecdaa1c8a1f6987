package sdk_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/tidemark-engine/tidemark/conformance/storage"
	"github.com/tidemark-engine/tidemark/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContractOfBlocking(t *testing.T) {
	storage.Run(t, storage.Harness{Open: func(string) (storage.Store, error) {
		s := sdk.NewBlocking(&mapStore{ledgers: map[sdk.LedgerID]*mapLedger{}}, sdk.Info{Name: "map", Version: "1", MaxEntryBytes: 1 << 20})
		return storage.Store{Plugin: s, Ledgers: s}, nil
	}})
}

// oddStore is a mapStore whose author made mistakes.
type oddStore struct {
	mapStore
	appended func(first sdk.EntryID) error
	read     func() ([][]byte, error)
	created  func()
	made     func(sdk.LedgerID) // called before the adapter hears of the ledger
}

func (s *oddStore) Create(ctx context.Context, options sdk.CreateOptions) (sdk.LedgerID, error) {
	if s.created != nil {
		s.created()
	}
	id, err := s.mapStore.Create(ctx, options)
	if s.made != nil {
		s.made(id)
	}
	return id, err
}

func (s *oddStore) Append(id sdk.LedgerID, first sdk.EntryID, entries [][]byte) error {
	if s.appended != nil {
		if err := s.appended(first); err != nil {
			return err
		}
	}
	return s.mapStore.Append(id, first, entries)
}

func (s *oddStore) Read(ctx context.Context, id sdk.LedgerID, r sdk.Range) ([][]byte, error) {
	if s.read != nil {
		return s.read()
	}
	return s.mapStore.Read(ctx, id, r)
}

func odd(s *oddStore) *sdk.Blocking {
	s.ledgers = map[sdk.LedgerID]*mapLedger{}
	return sdk.NewBlocking(s, sdk.Info{Name: "odd", Version: "1"})
}

func writerOf(t *testing.T, store *sdk.Blocking) sdk.LedgerWriter {
	t.Helper()
	t.Cleanup(func() { store.Close(context.Background()) })
	w, err := store.Create(context.Background(), sdk.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func appendAll(w sdk.LedgerWriter, count int) []error {
	outcomes := make(chan error, count)
	for i := range count {
		w.Append(sdk.Batch{First: sdk.EntryID(i), Entries: [][]byte{[]byte("x")}, Done: func(_ sdk.EntryID, err error) { outcomes <- err }})
	}
	var all []error
	for range count {
		all = append(all, <-outcomes)
	}
	return all
}

func TestBlockingTellsWhatAFailedAppendMeans(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails func(first sdk.EntryID) error
		want  error
	}{
		{"panics", func(sdk.EntryID) error { panic("out of range") }, sdk.ErrUnknownOutcome},
		{"fails without saying how", func(sdk.EntryID) error { return errors.New("i/o error") }, sdk.ErrUnknownOutcome},
		{"is full", func(sdk.EntryID) error { return sdk.ErrFull }, sdk.ErrFull},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := writerOf(t, odd(&oddStore{appended: c.fails}))
			outcomes := appendAll(w, 2)
			if !errors.Is(outcomes[0], c.want) {
				t.Errorf("%v, want %v", outcomes[0], c.want)
			}
			if outcomes[1] == nil {
				t.Error("the add after it succeeds")
			}
			if last, err := w.Seal(context.Background()); last != sdk.NoEntry || err != nil {
				t.Errorf("Seal: %d, %v", last, err)
			}
		})
	}
}

func TestBlockingCatchesPanics(t *testing.T) {
	ctx := context.Background()
	_, err := odd(&oddStore{created: func() { panic("nil map") }}).Create(ctx, sdk.CreateOptions{})
	if !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("Create: %v", err)
	}
	w := writerOf(t, odd(&oddStore{read: func() ([][]byte, error) { panic("out of range") }}))
	appendAll(w, 1)
	w.Read(ctx, sdk.Range{}, func(_ [][]byte, err error) {
		if !errors.Is(err, sdk.ErrUnavailable) {
			t.Errorf("Read: %v", err)
		}
	})
}

// S-032: a store that cannot find what was acknowledged has lost it.
func TestS032AnAcknowledgedEntryThatIsNotFoundIsDamage(t *testing.T) {
	for name, read := range map[string]func() ([][]byte, error){
		"not found": func() ([][]byte, error) { return nil, sdk.ErrEntryNotFound },
		"too few":   func() ([][]byte, error) { return [][]byte{[]byte("x")}, nil },
		"nothing":   func() ([][]byte, error) { return nil, nil },
	} {
		w := writerOf(t, odd(&oddStore{read: read}))
		appendAll(w, 2)
		w.Read(context.Background(), sdk.Range{Last: 1}, func(payloads [][]byte, err error) {
			if !errors.Is(err, sdk.ErrCorrupt) || errors.Is(err, sdk.ErrEntryNotFound) || payloads != nil {
				t.Errorf("%s: %q, %v", name, payloads, err)
			}
		})
	}
}

// A slow store gets what gathered meanwhile with one call, and an idle ledger
// has no goroutine.
func TestBlockingJoinsWhatGathers(t *testing.T) {
	hold := make(chan struct{})
	var calls []sdk.EntryID
	w := writerOf(t, odd(&oddStore{appended: func(first sdk.EntryID) error {
		calls = append(calls, first)
		if first == 0 {
			<-hold
		}
		return nil
	}}))
	before := runtime.NumGoroutine()
	outcomes := make(chan error, 101)
	for i := range 101 {
		w.Append(sdk.Batch{First: sdk.EntryID(i), Entries: [][]byte{{}}, Done: func(_ sdk.EntryID, err error) { outcomes <- err }})
	}
	if now := runtime.NumGoroutine(); now > before+1 {
		t.Errorf("%d goroutines more for one ledger", now-before)
	}
	close(hold)
	for range 101 {
		if err := <-outcomes; err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(calls) > 2 {
		t.Errorf("the store was called for the batches from %v on, want at most two calls", calls)
	}
}

func TestBlockingSaysBusy(t *testing.T) {
	for _, c := range []struct {
		name    string
		entry   []byte
		batches int
	}{
		{"bytes", make([]byte, 8<<20), 20},
		{"empty entries", nil, 140_000}, // some are with the store, as many as wait at most
	} {
		t.Run(c.name, func(t *testing.T) {
			hold := make(chan struct{})
			w := writerOf(t, odd(&oddStore{appended: func(sdk.EntryID) error { <-hold; return nil }}))
			var busy bool
			outcomes := make(chan error, c.batches)
			for i := range c.batches {
				w.Append(sdk.Batch{First: sdk.EntryID(i), Entries: [][]byte{c.entry}, Done: func(_ sdk.EntryID, err error) { outcomes <- err }})
			}
			close(hold)
			for range c.batches {
				err := <-outcomes
				if err != nil && !errors.Is(err, sdk.ErrBusy) {
					t.Fatal(err)
				}
				busy = busy || err != nil
			}
			if !busy {
				t.Errorf("%d batches of %d bytes were queued", c.batches, len(c.entry))
			}
		})
	}
}

// Who opens a ledger between its making in the store and its writer fences the
// writer, also when the handle is closed again.
func TestBlockingFencesTheWriterOfALedgerBeingMade(t *testing.T) {
	ctx := context.Background()
	s := &oddStore{}
	b := odd(s)
	t.Cleanup(func() { b.Close(ctx) })
	s.made = func(id sdk.LedgerID) {
		r, err := b.Open(ctx, id, sdk.OpenRecover)
		if err != nil {
			t.Fatal(err)
		}
		if !r.State().Closed {
			t.Error("recovery left the ledger open")
		}
		r.Close()
	}
	if w, err := b.Create(ctx, sdk.CreateOptions{}); !errors.Is(err, sdk.ErrUnavailable) {
		t.Fatalf("a recovered ledger got the writer %v, %v", w, err)
	}
	s.made = nil
	if outcomes := appendAll(writerOf(t, b), 1); outcomes[0] != nil {
		t.Errorf("the next ledger: %v", outcomes[0])
	}
}

// closableStore notes when it is closed.
type closableStore struct {
	oddStore
	closed chan struct{}
}

func (s *closableStore) Close() error {
	close(s.closed)
	return nil
}

// An author need not guard against calls during Close or after it.
func TestBlockingClosesTheStoreLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &closableStore{closed: make(chan struct{})}
		s.ledgers = map[sdk.LedgerID]*mapLedger{}
		b := sdk.NewBlocking(s, sdk.Info{Name: "closable", Version: "1"})
		w := writerOf(t, b)
		appendAll(w, 1)
		hold := make(chan struct{})
		s.read = func() ([][]byte, error) {
			<-hold
			return [][]byte{[]byte("x")}, nil
		}
		read, closed := make(chan error, 1), make(chan error, 1)
		go w.Read(t.Context(), sdk.Range{}, func(_ [][]byte, err error) { read <- err })
		synctest.Wait()
		go func() { closed <- b.Close(t.Context()) }()
		synctest.Wait()
		select {
		case <-s.closed:
			t.Error("the store was closed during a read")
		default:
		}
		w.Read(t.Context(), sdk.Range{}, func(_ [][]byte, err error) {
			if !errors.Is(err, sdk.ErrClosed) {
				t.Errorf("a read during Close: %v", err)
			}
		})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Close(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Close that may not wait: %v", err)
		}
		close(hold)
		if err := errors.Join(<-read, <-closed); err != nil {
			t.Error(err)
		}
		<-s.closed
	})
}
