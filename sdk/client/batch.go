package client

import (
	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

const (
	// messageCost is what a message counts against the limit besides its bytes.
	messageCost = 64
	// batchCost is what a batch takes in a frame at most besides its messages.
	batchCost = 64
)

// batch is messages with consecutive sequences. It is kept until the server has
// answered, to be sent again.
type batch struct {
	wire      tidemarkv1.ProduceBatch
	callbacks []callback
	cost      int
	sealed    bool // was sent before, so it must not grow

	// ended is closed when the verdict is there, which wakes all who wait for
	// messages of the batch at once; nil if nobody does.
	ended   chan struct{}
	verdict verdict
}

// callback is who wants to hear of one message.
type callback struct {
	sequence uint64
	done     func(Receipt, error)
}

// first is the sequence of the first message.
func (b *batch) first() uint64 { return b.wire.GetFirstSequence() }

// next is the sequence that the next message would have.
func (b *batch) next() uint64 { return b.first() + uint64(b.wire.GetCount()) }

// last is the sequence of the last message.
func (b *batch) last() uint64 { return b.next() - 1 }

// size is the bytes of the messages.
func (b *batch) size() int { return len(b.wire.GetMessages()) }

// end tells the senders. It is called once, without a lock.
func (b *batch) end(v verdict) {
	b.verdict = v
	for _, c := range b.callbacks {
		v.skip(c.sequence)
		c.done(v.of(c.sequence))
	}
	if b.ended != nil {
		close(b.ended)
	}
}

// verdict is how messages of one producer ended: all of them with err, or as
// the server says, by rising sequence: where they are stored and which failed.
type verdict struct {
	err      error
	stored   []*tidemarkv1.StoredRun
	failures []*tidemarkv1.ProduceFailure
}

// skip drops what is about messages before sequence.
func (v *verdict) skip(sequence uint64) {
	for len(v.stored) > 0 && beyond(sequence, v.stored[0].GetFirstSequence(), v.stored[0].GetCount()) {
		v.stored = v.stored[1:]
	}
	for len(v.failures) > 0 && beyond(sequence, v.failures[0].GetFirstSequence(), v.failures[0].GetCount()) {
		v.failures = v.failures[1:]
	}
}

// of returns how one message ended, whose sequence was not skipped.
func (v verdict) of(sequence uint64) (Receipt, error) {
	receipt := Receipt{Sequence: sequence}
	if v.err != nil {
		return receipt, v.err
	}
	v.skip(sequence)
	switch {
	case len(v.stored) > 0 && sequence >= v.stored[0].GetFirstSequence():
		run := v.stored[0]
		receipt.Position = sdk.Position{
			Ledger: sdk.LedgerID(run.GetLedger()),
			Entry:  sdk.EntryID(run.GetFirstEntry() + int64(sequence-run.GetFirstSequence())),
		}
		return receipt, nil
	case len(v.failures) > 0 && sequence >= v.failures[0].GetFirstSequence():
		return receipt, wire.FailureError(v.failures[0].GetError())
	}
	receipt.Duplicate = true
	return receipt, nil
}

// beyond says whether a sequence is behind the count from first on.
func beyond(sequence, first uint64, count uint32) bool {
	return sequence >= first && sequence-first >= uint64(count)
}
