package storage

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/tidemark-engine/tidemark/sdk"
)

// create makes a ledger or ends the check.
func (p *Probe) create() sdk.LedgerWriter {
	w, err := p.Ledgers().Create(p.ctx, sdk.CreateOptions{})
	p.Must("Create", err)
	return w
}

// open opens a ledger or ends the check.
func (p *Probe) openLedger(id sdk.LedgerID, mode sdk.OpenMode) sdk.LedgerReader {
	r, err := p.Ledgers().Open(p.ctx, id, mode)
	p.Must(fmt.Sprintf("Open of ledger %d, mode %d", id, mode), err)
	return r
}

// outcome is what a Done was told.
type outcome struct {
	last sdk.EntryID
	err  error
}

// appended follows batches that were handed over.
type appended struct {
	p  *Probe
	mu sync.Mutex // guards what follows
	// order holds the First of the batches in the order of their Done.
	order    []sdk.EntryID
	outcomes map[sdk.EntryID][]outcome
	expected int
	all      chan struct{} // closed when expected batches were told
}

func (p *Probe) expect(batches int) *appended {
	a := &appended{p: p, outcomes: map[sdk.EntryID][]outcome{}, expected: batches, all: make(chan struct{})}
	if batches == 0 {
		close(a.all)
	}
	return a
}

// hand appends one batch.
func (a *appended) hand(w sdk.LedgerWriter, first sdk.EntryID, entries ...[]byte) {
	w.Append(sdk.Batch{First: first, Entries: entries, Done: func(last sdk.EntryID, err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.order = append(a.order, first)
		a.outcomes[first] = append(a.outcomes[first], outcome{last, err})
		if len(a.order) == a.expected {
			close(a.all)
		}
	}})
}

// wait ends the check unless every batch is told its end.
func (a *appended) wait() {
	select {
	case <-a.all:
	case <-a.p.ctx.Done():
		a.mu.Lock()
		told := len(a.order)
		a.mu.Unlock()
		a.p.Fatalf("%d of %d batches were told their end", told, a.expected)
	}
}

// of returns what the batch that begins at first was told.
func (a *appended) of(first sdk.EntryID) outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := a.outcomes[first]; len(got) > 0 {
		return got[0]
	}
	return outcome{}
}

// add appends one batch and waits for its end.
func (p *Probe) add(w sdk.LedgerWriter, first sdk.EntryID, entries ...[]byte) outcome {
	a := p.expect(1)
	a.hand(w, first, entries...)
	a.wait()
	return a.of(first)
}

// fill appends entries one batch each, and ends the check if one fails.
func (p *Probe) fill(w sdk.LedgerWriter, entries [][]byte) {
	a := p.expect(len(entries))
	for i, entry := range entries {
		a.hand(w, sdk.EntryID(i), entry)
	}
	a.wait()
	for i := range entries {
		p.Must(fmt.Sprintf("Append of entry %d", i), a.of(sdk.EntryID(i)).err)
	}
}

// numbered returns count different entries.
func numbered(count int) [][]byte {
	entries := make([][]byte, count)
	for i := range entries {
		entries[i] = fmt.Appendf(nil, "entry %d", i)
	}
	return entries
}

// mixed returns entries of many sizes, empty ones among them.
func mixed(random *rand.Rand, count, most int) [][]byte {
	entries := make([][]byte, count)
	for i := range entries {
		size := 0
		switch random.IntN(4) {
		case 0:
		case 1:
			size = random.IntN(most)
		default:
			size = random.IntN(200)
		}
		entries[i] = make([]byte, size)
		for k := range entries[i] {
			entries[i][k] = byte(random.Uint32())
		}
	}
	return entries
}

// answer is what a Read was told.
type answer struct {
	payloads [][]byte
	err      error
}

// read reads and waits for the answer. A second answer, if it comes while the
// check goes on, is a problem.
func (p *Probe) read(ctx context.Context, r sdk.LedgerReader, want sdk.Range) answer {
	answers := make(chan answer, 1)
	var told atomic.Bool
	r.Read(ctx, want, func(payloads [][]byte, err error) {
		if told.Swap(true) {
			p.Errorf("Read %+v: a second answer", want)
			return
		}
		answers <- answer{payloads, err}
	})
	select {
	case got := <-answers:
		if got.err != nil && got.payloads != nil {
			p.Errorf("Read %+v: payloads besides the error %v", want, got.err)
		}
		return got
	case <-p.ctx.Done():
		p.Fatalf("Read %+v: no answer", want)
		return answer{}
	}
}

// wantEntries reads all entries and compares.
func (p *Probe) wantEntries(r sdk.LedgerReader, entries [][]byte) {
	if len(entries) == 0 {
		return
	}
	got := p.read(p.ctx, r, sdk.Range{Last: sdk.EntryID(len(entries) - 1)})
	p.Must(fmt.Sprintf("Read of entries 0 to %d", len(entries)-1), got.err)
	p.same(0, got.payloads, entries)
}

// same compares payloads with the entries from first on.
func (p *Probe) same(first sdk.EntryID, payloads, entries [][]byte) {
	if len(payloads) != len(entries) {
		p.Errorf("%d entries from %d on, want %d", len(payloads), first, len(entries))
		return
	}
	for i := range entries {
		if !bytes.Equal(payloads[i], entries[i]) {
			p.Errorf("entry %d is %s, want %s", first+sdk.EntryID(i), brief(payloads[i]), brief(entries[i]))
			return
		}
	}
}

func brief(payload []byte) string {
	if len(payload) > 24 {
		return fmt.Sprintf("%q... (%d bytes)", payload[:24], len(payload))
	}
	return fmt.Sprintf("%q", payload)
}

func bytesOf(entries [][]byte) int64 {
	total := int64(0)
	for _, entry := range entries {
		total += int64(len(entry))
	}
	return total
}

// ended returns a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
