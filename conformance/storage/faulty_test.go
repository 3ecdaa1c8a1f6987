package storage_test

import (
	"context"
	"reflect"

	"github.com/tidemark-engine/tidemark/conformance/storage"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
)

// faulty is a memory store with one fault: what is set is called in place of
// the store's own method.
type faulty struct {
	*memory.Store
	info   func() sdk.Info
	health func(ctx context.Context) error
	close  func(ctx context.Context) error
	create func(ctx context.Context, o sdk.CreateOptions) (sdk.LedgerWriter, error)
	open   func(ctx context.Context, id sdk.LedgerID, mode sdk.OpenMode) (sdk.LedgerReader, error)
	delete func(ctx context.Context, id sdk.LedgerID) error
	list   func(ctx context.Context, after sdk.LedgerID, limit int) ([]sdk.LedgerID, error)
	// writer and reader make the fault of one handle.
	writer   func(own sdk.LedgerWriter) handle
	reader   func(own sdk.LedgerReader) handle
	metadata metadata
}

// or returns odd, or own if there is none.
func or[F any](odd, own F) F {
	if reflect.ValueOf(odd).IsNil() {
		return own
	}
	return odd
}

// broken opens a store into which fault has put a fault.
func broken(fault func(f *faulty)) func(string) (storage.Store, error) {
	return func(string) (storage.Store, error) {
		f := &faulty{Store: memory.Open()}
		f.metadata.MetadataStore = f.Store.Metadata()
		fault(f)
		return storage.Store{Plugin: f, Ledgers: f, Metadata: f.metadata}, nil
	}
}

func (f *faulty) Info() sdk.Info                   { return or(f.info, f.Store.Info)() }
func (f *faulty) Health(ctx context.Context) error { return or(f.health, f.Store.Health)(ctx) }
func (f *faulty) Close(ctx context.Context) error  { return or(f.close, f.Store.Close)(ctx) }
func (f *faulty) Delete(ctx context.Context, id sdk.LedgerID) error {
	return or(f.delete, f.Store.Delete)(ctx, id)
}
func (f *faulty) List(ctx context.Context, after sdk.LedgerID, limit int) ([]sdk.LedgerID, error) {
	return or(f.list, f.Store.List)(ctx, after, limit)
}

func (f *faulty) Create(ctx context.Context, o sdk.CreateOptions) (sdk.LedgerWriter, error) {
	w, err := or(f.create, f.Store.Create)(ctx, o)
	if err != nil || f.writer == nil {
		return w, err
	}
	return writer{w, f.writer(w)}, nil
}

func (f *faulty) Open(ctx context.Context, id sdk.LedgerID, mode sdk.OpenMode) (sdk.LedgerReader, error) {
	r, err := or(f.open, f.Store.Open)(ctx, id, mode)
	if err != nil || f.reader == nil {
		return r, err
	}
	return reader{r, f.reader(r)}, nil
}

// handle is the fault of one handle.
type handle struct {
	id     func() sdk.LedgerID
	state  func() sdk.LedgerState
	read   func(ctx context.Context, r sdk.Range, done func([][]byte, error))
	append func(b sdk.Batch)
	seal   func(ctx context.Context) (sdk.EntryID, error)
	close  func() error
}

type reader struct {
	sdk.LedgerReader
	odd handle
}

func (r reader) ID() sdk.LedgerID       { return or(r.odd.id, r.LedgerReader.ID)() }
func (r reader) State() sdk.LedgerState { return or(r.odd.state, r.LedgerReader.State)() }
func (r reader) Close() error           { return or(r.odd.close, r.LedgerReader.Close)() }
func (r reader) Read(ctx context.Context, e sdk.Range, done func([][]byte, error)) {
	or(r.odd.read, r.LedgerReader.Read)(ctx, e, done)
}

type writer struct {
	sdk.LedgerWriter
	odd handle
}

func (w writer) ID() sdk.LedgerID       { return or(w.odd.id, w.LedgerWriter.ID)() }
func (w writer) State() sdk.LedgerState { return or(w.odd.state, w.LedgerWriter.State)() }
func (w writer) Close() error           { return or(w.odd.close, w.LedgerWriter.Close)() }
func (w writer) Append(b sdk.Batch)     { or(w.odd.append, w.LedgerWriter.Append)(b) }
func (w writer) Read(ctx context.Context, e sdk.Range, done func([][]byte, error)) {
	or(w.odd.read, w.LedgerWriter.Read)(ctx, e, done)
}
func (w writer) Seal(ctx context.Context) (sdk.EntryID, error) {
	return or(w.odd.seal, w.LedgerWriter.Seal)(ctx)
}

// metadata is a metadata store with one fault.
type metadata struct {
	sdk.MetadataStore
	get    func(ctx context.Context, key string) (sdk.Versioned, error)
	list   func(ctx context.Context, prefix, after string, limit int) ([]sdk.KeyValue, error)
	watch  func(ctx context.Context, prefix string, changed func(string)) error
	put    func(ctx context.Context, key string, value []byte, expected sdk.Version) (sdk.Version, error)
	delete func(ctx context.Context, key string, expected sdk.Version) error
}

func (m metadata) Get(ctx context.Context, key string) (sdk.Versioned, error) {
	return or(m.get, m.MetadataStore.Get)(ctx, key)
}

func (m metadata) List(ctx context.Context, prefix, after string, limit int) ([]sdk.KeyValue, error) {
	return or(m.list, m.MetadataStore.List)(ctx, prefix, after, limit)
}

func (m metadata) Watch(ctx context.Context, prefix string, changed func(string)) error {
	return or(m.watch, m.MetadataStore.Watch)(ctx, prefix, changed)
}

func (m metadata) Put(ctx context.Context, key string, value []byte, expected sdk.Version) (sdk.Version, error) {
	return or(m.put, m.MetadataStore.Put)(ctx, key, value, expected)
}

func (m metadata) Delete(ctx context.Context, key string, expected sdk.Version) error {
	return or(m.delete, m.MetadataStore.Delete)(ctx, key, expected)
}
