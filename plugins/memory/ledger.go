package memory

import (
	"context"
	"fmt"
	"sync"

	"github.com/tidemark-engine/tidemark/sdk"
)

// The sizes of the chunks that hold payloads: they double, so that a ledger
// with few entries stays small.
const (
	firstChunkBytes = 1 << 10
	maxChunkBytes   = 1 << 20
)

// ledger is the state that all handles of one ledger share.
type ledger struct {
	id sdk.LedgerID

	mu      sync.Mutex // guards what follows
	entries [][]byte   // never changed, only appended to
	chunk   []byte     // where the next payloads are copied to
	bytes   int64
	sealed  bool  // closed for ever
	refusal error // why no more is appended, nil while open
	gone    error // why nothing may be read any more: deleted, store closed
}

func newLedger(id sdk.LedgerID) *ledger { return &ledger{id: id} }

func (l *ledger) wrap(err error) error { return fmt.Errorf("ledger %d: %w", l.id, err) }

func (l *ledger) state() sdk.LedgerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return sdk.LedgerState{LastConfirmed: l.last(), Bytes: l.bytes, Closed: l.sealed}
}

// last must be called with the mutex held.
func (l *ledger) last() sdk.EntryID { return sdk.EntryID(len(l.entries)) - 1 }

// add copies the batch in, or refuses it.
func (l *ledger) add(batch sdk.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusal != nil {
		return l.wrap(l.refusal)
	}
	if err := batch.Validate(l.last() + 1); err != nil {
		return l.wrap(err)
	}
	for _, payload := range batch.Entries {
		l.entries = append(l.entries, l.keep(payload))
	}
	return nil
}

// keep must be called with the mutex held.
func (l *ledger) keep(payload []byte) []byte {
	if len(l.chunk)+len(payload) > cap(l.chunk) {
		size := min(max(2*cap(l.chunk), firstChunkBytes), maxChunkBytes)
		l.chunk = make([]byte, 0, max(size, len(payload)))
	}
	begin := len(l.chunk)
	l.chunk = append(l.chunk, payload...)
	l.bytes += int64(len(payload))
	return l.chunk[begin:len(l.chunk):len(l.chunk)]
}

// seal closes the ledger for its writer.
func (l *ledger) seal() (sdk.EntryID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusal != nil {
		return sdk.NoEntry, l.wrap(l.refusal)
	}
	l.sealed, l.refusal, l.chunk = true, sdk.ErrClosed, nil
	return l.last(), nil
}

// fence closes the ledger for somebody who recovers it.
func (l *ledger) fence() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone != nil {
		return l.wrap(l.gone)
	}
	if !l.sealed {
		l.sealed, l.refusal, l.chunk = true, sdk.ErrFenced, nil
	}
	return nil
}

// end makes every later use of the ledger fail with why.
func (l *ledger) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusal, l.gone = why, why
	l.entries, l.chunk = nil, nil
}

// read returns the entries of the range, cut by its bytes.
func (l *ledger) read(r sdk.Range) ([][]byte, error) {
	l.mu.Lock()
	entries, gone, last := l.entries, l.gone, l.last()
	l.mu.Unlock()
	if gone != nil {
		return nil, l.wrap(gone)
	}
	if err := r.Within(last); err != nil {
		return nil, l.wrap(err)
	}
	found := entries[r.First : r.Last+1]
	if r.MaxBytes > 0 {
		found = found[:fitting(found, r.MaxBytes)]
	}
	// The list is the reader's own, the payloads are shared.
	return append(make([][]byte, 0, len(found)), found...), nil
}

// fitting returns how many of the entries fit into limit bytes, at least one.
func fitting(entries [][]byte, limit int) int {
	for i, entry := range entries {
		if limit -= len(entry); limit < 0 && i > 0 {
			return i
		}
	}
	return len(entries)
}

// reader implements [sdk.LedgerReader].
type reader struct {
	ledger *ledger

	mu     sync.Mutex // guards closed
	closed bool
}

func (r *reader) ID() sdk.LedgerID { return r.ledger.id }

func (r *reader) State() sdk.LedgerState { return r.ledger.state() }

func (r *reader) Read(ctx context.Context, want sdk.Range, done func([][]byte, error)) {
	if err := ctx.Err(); err != nil {
		done(nil, err)
		return
	}
	if err := r.usable(); err != nil {
		done(nil, err)
		return
	}
	done(r.ledger.read(want))
}

func (r *reader) usable() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.ledger.wrap(sdk.ErrClosed)
	}
	return nil
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}
