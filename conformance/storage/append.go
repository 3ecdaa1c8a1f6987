package storage

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

func createClauses() []Clause {
	return []Clause{
		{"create/new-ids", OfLedgers, "Create gives an id that this store never gave before, at least 0 and rising.", checkNewIDs},
		{"create/empty", OfLedgers, "A new ledger is empty and open.", func(p *Probe) {
			want := sdk.LedgerState{LastConfirmed: sdk.NoEntry}
			if got := p.create().State(); got != want {
				p.Errorf("state %+v, want %+v", got, want)
			}
		}},
		{"create/labels", OfLedgers, "Labels beyond the limits are ErrInvalid.", func(p *Probe) {
			labels := map[string]string{"topic": "orders"}
			w, err := p.Ledgers().Create(p.ctx, sdk.CreateOptions{Labels: labels})
			p.Must("Create with a label", err)
			p.Must("Close", w.Close())
			for i := range sdk.MaxLabels {
				labels[fmt.Sprint(i)] = ""
			}
			_, err = p.Ledgers().Create(p.ctx, sdk.CreateOptions{Labels: labels})
			p.Wants("Create with 17 labels", err, sdk.ErrInvalid)
		}},
		{"create/context", OfLedgers, "Create ends early when its context does.", func(p *Probe) {
			_, err := p.Ledgers().Create(ended(), sdk.CreateOptions{})
			p.cancelled("Create", err)
		}},
	}
}

func checkNewIDs(p *Probe) {
	last := sdk.LedgerID(-1)
	next := func(when string) sdk.LedgerID {
		id := p.create().ID()
		if id <= last {
			p.Fatalf("id %d after %d %s", id, last, when)
		}
		last = id
		return id
	}
	next("at first")
	id := next("a second time")
	p.Must("Delete", p.Ledgers().Delete(p.ctx, id))
	next("after the last one was deleted")
	if p.Plugin().Info().Durable {
		p.Must("Delete", p.Ledgers().Delete(p.ctx, last))
		p.Reopen()
		next("after a restart")
	}
}

func appendClauses() []Clause {
	return []Clause{
		{"append/read-back", OfLedgers, "What was acknowledged is read back as it was, whatever its size; an empty payload is an entry.", checkReadBack},
		{"append/pipelined", OfLedgers, "The next batch may be appended before the former is acknowledged; Done is called exactly once for each, in their order.", checkPipelined},
		{"append/many-ledgers", OfLedgers, "Ledgers do not disturb each other.", checkManyLedgers},
		{"append/bytes-are-the-callers-again", OfLedgers, "The store does not keep the bytes after the acknowledgement.", checkOwnBytes},
		{"append/visible", OfLedgers, "An acknowledged entry can be read at once, by every handle.", checkVisible},
		{"append/durable", OfLedgers, "A store that declares Durable has every acknowledged entry after the end of the process.", checkDurable},
	}
}

func checkReadBack(p *Probe) {
	random := rand.New(rand.NewPCG(1, 2))
	most := 300 << 10
	if limit := p.Plugin().Info().MaxEntryBytes; limit > 0 {
		most = min(most, limit)
	}
	entries := mixed(random, 300, most)
	w := p.create()
	var starts []int
	for first := 0; first < len(entries); first += 1 + random.IntN(20) {
		starts = append(starts, first)
	}
	first := len(entries)
	a := p.expect(len(starts))
	for i, start := range starts {
		end := append(starts, first)[i+1]
		a.hand(w, sdk.EntryID(start), entries[start:end]...)
	}
	a.wait()
	if got := p.add(w, sdk.EntryID(first), []byte("last")); got.err != nil || got.last != sdk.EntryID(first) {
		p.Fatalf("Done(%d, %v), want Done(%d, nil)", got.last, got.err, first)
	}
	p.wantEntries(w, append(entries, []byte("last")))
	want := sdk.LedgerState{LastConfirmed: sdk.EntryID(first), Bytes: bytesOf(entries) + 4}
	if got := w.State(); got != want {
		p.Errorf("state %+v, want %+v", got, want)
	}
}

func checkPipelined(p *Probe) {
	const batches = 500
	w := p.create()
	a := p.expect(batches)
	for i := range batches {
		a.hand(w, sdk.EntryID(2*i), []byte("a"), []byte("b"))
	}
	a.wait()
	for i := range batches {
		first := sdk.EntryID(2 * i)
		if a.order[i] != first {
			p.Fatalf("Done number %d is that of batch %d, want %d", i, a.order[i], first)
		}
		if got := a.outcomes[first]; len(got) != 1 || got[0] != (outcome{last: first + 1}) {
			p.Fatalf("batch %d was told %+v", first, got)
		}
	}
}

func checkManyLedgers(p *Probe) {
	const ledgers, entries = 20, 50
	var writers []sdk.LedgerWriter
	var all []*appended
	for range ledgers {
		writers, all = append(writers, p.create()), append(all, p.expect(entries))
	}
	payload := func(ledger, entry int) []byte { return fmt.Appendf(nil, "ledger %d entry %d", ledger, entry) }
	for i := range entries {
		for k, w := range writers {
			all[k].hand(w, sdk.EntryID(i), payload(k, i))
		}
	}
	for k, w := range writers {
		all[k].wait()
		want := make([][]byte, entries)
		for i := range want {
			want[i] = payload(k, i)
		}
		p.wantEntries(w, want)
	}
}

func checkOwnBytes(p *Probe) {
	w := p.create()
	payload := bytes.Repeat([]byte("A"), 4096)
	for i := range 100 {
		p.Must("Append", p.add(w, sdk.EntryID(i), payload).err)
		for k := range payload {
			payload[k]++
		}
	}
	got := p.read(p.ctx, w, sdk.Range{Last: 99})
	p.Must("Read", got.err)
	for i, entry := range got.payloads {
		if want := byte('A' + i); entry[0] != want || entry[4095] != want {
			p.Fatalf("entry %d holds %d, want %d: the bytes were changed after the acknowledgement", i, entry[0], want)
		}
	}
}

func checkVisible(p *Probe) {
	w := p.create()
	r := p.openLedger(w.ID(), sdk.OpenRead)
	for i := range 20 {
		id := sdk.EntryID(i)
		p.Must("Append", p.add(w, id, []byte{byte(i)}).err)
		for name, handle := range map[string]sdk.LedgerReader{"the writer": w, "a reader": r} {
			got := p.read(p.ctx, handle, sdk.Range{First: id, Last: id})
			p.Must(fmt.Sprintf("Read of entry %d by %s", i, name), got.err)
			p.same(id, got.payloads, [][]byte{{byte(i)}})
		}
	}
}

func checkDurable(p *Probe) {
	if !p.Plugin().Info().Durable {
		return
	}
	open, sealed := p.create(), p.create()
	entries := mixed(rand.New(rand.NewPCG(3, 4)), 200, 100<<10)
	p.fill(open, entries)
	p.fill(sealed, entries)
	_, err := sealed.Seal(p.ctx)
	p.Must("Seal", err)
	for range 2 { // A repair at the first start must not break the second one.
		p.Reopen()
		p.wantEntries(p.openLedger(open.ID(), sdk.OpenRead), entries)
		r := p.openLedger(sealed.ID(), sdk.OpenRead)
		p.wantEntries(r, entries)
		want := sdk.LedgerState{LastConfirmed: 199, Bytes: bytesOf(entries), Closed: true}
		if got := r.State(); got != want {
			p.Errorf("state of the sealed ledger %+v, want %+v", got, want)
		}
	}
	r := p.openLedger(open.ID(), sdk.OpenRecover)
	want := sdk.LedgerState{LastConfirmed: 199, Bytes: bytesOf(entries), Closed: true}
	if got := r.State(); got != want {
		p.Errorf("state of the recovered ledger %+v, want %+v", got, want)
	}
	p.wantEntries(r, entries)
}
