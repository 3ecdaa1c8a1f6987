package client

import (
	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// messageCost is what a message counts against the limit besides its bytes.
const messageCost = 64

// batch is messages with consecutive sequences. It is kept until the server has
// answered, to be sent again.
type batch struct {
	first  uint64
	packed []byte
	calls  []call
	cost   int
	sealed bool // was sent before, so it must not grow
}

// call is one message of a batch as its sender sees it.
type call struct {
	sequence uint64
	done     func(Receipt, error)
	waiter   *waiter
}

// waiter is a sender that waits for one message.
type waiter struct {
	ended   chan struct{} // gets one token
	receipt Receipt
	err     error
}

// waiter returns one that nobody uses.
func (c *Client) waiter() *waiter {
	if w, ok := c.waiters.Get().(*waiter); ok {
		return w
	}
	return &waiter{ended: make(chan struct{}, 1)}
}

// end tells the sender.
func (c *call) end(r Receipt, err error) {
	switch {
	case c.waiter != nil:
		c.waiter.receipt, c.waiter.err = r, err
		c.waiter.ended <- struct{}{}
	case c.done != nil:
		c.done(r, err)
	}
}

// sequence is that of the i-th message.
func (b *batch) sequence(i int) uint64 { return b.first + uint64(i) }

// last is the sequence of the last message.
func (b *batch) last() uint64 { return b.sequence(len(b.calls) - 1) }

// fail ends all messages with an error.
func (b *batch) fail(err error) {
	for i := range b.calls {
		b.calls[i].end(Receipt{Sequence: b.sequence(i)}, err)
	}
}

// verdict is what the server said of messages of one producer: where they are
// stored and which failed, by rising sequence.
type verdict struct {
	topic    string
	stored   []*tidemarkv1.StoredRun
	failures []*tidemarkv1.ProduceFailure
}

// end ends the messages of a batch, all of which are answered.
func (v *verdict) end(b *batch) {
	for i := range b.calls {
		sequence := b.sequence(i)
		for len(v.stored) > 0 && beyond(sequence, v.stored[0].GetFirstSequence(), v.stored[0].GetCount()) {
			v.stored = v.stored[1:]
		}
		for len(v.failures) > 0 && beyond(sequence, v.failures[0].GetFirstSequence(), v.failures[0].GetCount()) {
			v.failures = v.failures[1:]
		}
		receipt := Receipt{Sequence: sequence}
		switch {
		case len(v.stored) > 0 && sequence >= v.stored[0].GetFirstSequence():
			run := v.stored[0]
			receipt.Position = sdk.Position{
				Ledger: sdk.LedgerID(run.GetLedger()),
				Entry:  sdk.EntryID(run.GetFirstEntry() + int64(sequence-run.GetFirstSequence())),
			}
			b.calls[i].end(receipt, nil)
		case len(v.failures) > 0 && sequence >= v.failures[0].GetFirstSequence():
			b.calls[i].end(receipt, wire.FailureError(v.failures[0].GetError()))
		default:
			receipt.Duplicate = true
			b.calls[i].end(receipt, nil)
		}
	}
}

// beyond says whether a sequence is behind the count from first on.
func beyond(sequence, first uint64, count uint32) bool {
	return sequence >= first && sequence-first >= uint64(count)
}
