package managedledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// Replay is what a read of given positions yields.
type Replay struct {
	// Entries are in order.
	Entries []Entry
	// Settled are positions of which nothing comes: acknowledged, or trimmed.
	Settled []sdk.Position
	// Rest are positions that were not read, because the bytes were used up.
	Rest []sdk.Position
}

// ReadPositions reads entries again that were read before, of at most maxBytes
// in all (0: no bound; at least one entry is read). It moves nothing and is no
// ordinary read: many may be in flight. If one of the entries cannot be read,
// all of it fails. A position that is not confirmed is
// reason.ErrPositionInvalid.
func (c *Cursor) ReadPositions(ctx context.Context, positions []sdk.Position, maxBytes int) (Replay, error) {
	type end struct {
		replay Replay
		err    error
	}
	ended := make(chan end, 1)
	if err := c.ReadPositionsAsync(positions, maxBytes, func(r Replay, err error) { ended <- end{r, err} }); err != nil {
		return Replay{}, err
	}
	select {
	case e := <-ended:
		return e.replay, e.err
	case <-ctx.Done():
		return Replay{}, ctx.Err()
	}
}

// ReadPositionsAsync is ReadPositions that does not wait. If it returns an error,
// done is never called; otherwise once, under no lock, where the last entries
// were read, possibly before it returns.
func (c *Cursor) ReadPositionsAsync(positions []sdk.Position, maxBytes int, done func(Replay, error)) error {
	if maxBytes < 0 {
		return fmt.Errorf("%w: read of at most %d bytes", sdk.ErrInvalid, maxBytes)
	}
	sorted := slices.Clone(positions)
	slices.SortFunc(sorted, sdk.Position.Compare)
	sorted = slices.Compact(sorted)
	p := &replay{max: maxBytes, done: done}
	p.reader = reader{m: c.m, label: c.label, silent: true}
	p.onRead = p.read
	c.mu.Lock()
	v := c.m.current()
	err := c.checkAcks(v, nil, nil)
	for _, at := range sorted {
		switch {
		case err != nil:
		case at.Entry < 0 || at.After(v.lac):
			err = fmt.Errorf("%w: read of %s, last confirmed is %s", reason.ErrPositionInvalid, at, v.lac)
		case c.acks.Contains(at):
			p.result.Settled = append(p.result.Settled, at)
		default:
			p.left = append(p.left, at)
		}
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	p.next()
	return nil
}

// replay is one read of given positions: a run of consecutive ones at a time.
type replay struct {
	reader reader
	left   []sdk.Position
	max    int
	bytes  int
	result Replay
	done   func(Replay, error)
	onRead func(ReadResult, error)
}

// next reads the first run of what is left.
func (p *replay) next() {
	if len(p.left) == 0 || p.max > 0 && p.bytes >= p.max {
		p.end(nil)
		return
	}
	run := runOf(p.left)
	last := sdk.Position{Ledger: run.Ledger, Entry: run.Last}
	most := Max{Entries: int(run.Len())}
	if p.max > 0 {
		most.Bytes = p.max - p.bytes
	}
	p.reader.place = p.left[0]
	if err := p.reader.readAsync(most, ReadOptions{UpTo: &last}, p.onRead); err != nil {
		p.end(err)
	}
}

// read takes in a part of a run.
func (p *replay) read(r ReadResult, err error) {
	if err != nil {
		p.end(err)
		return
	}
	for _, e := range r.Entries {
		p.settle(e.Position)
		if p.max > 0 && len(p.result.Entries) > 0 && p.bytes+len(e.Payload) > p.max {
			p.bytes = p.max
			break
		}
		p.result.Entries = append(p.result.Entries, e)
		p.bytes += len(e.Payload)
		p.left = p.left[1:]
	}
	if len(r.Entries) == 0 { // the run lies in what was trimmed
		p.settle(sdk.Position{Ledger: p.left[0].Ledger, Entry: p.left[0].Entry + sdk.EntryID(runOf(p.left).Len())})
	}
	p.next()
}

// settle notes that the positions before p are gone.
func (p *replay) settle(before sdk.Position) {
	for len(p.left) > 0 && p.left[0].Before(before) {
		p.result.Settled = append(p.result.Settled, p.left[0])
		p.left = p.left[1:]
	}
}

func (p *replay) end(err error) {
	if err != nil {
		p.done(Replay{}, err)
		return
	}
	slices.SortFunc(p.result.Settled, sdk.Position.Compare)
	p.result.Rest = p.left
	p.done(p.result, nil)
}
