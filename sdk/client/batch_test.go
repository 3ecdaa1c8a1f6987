package client

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// Each message of a batch gets the verdict that is about it, whether somebody
// waits for it or it has a callback.
func TestVerdict(t *testing.T) {
	failure := func(first uint64, count uint32) *tidemarkv1.ProduceFailure {
		return &tidemarkv1.ProduceFailure{FirstSequence: first, Count: count, Error: &tidemarkv1.Error{Reason: "TOO_LARGE", Message: "no"}}
	}
	v := verdict{
		stored: []*tidemarkv1.StoredRun{
			{FirstSequence: 12, Count: 3, Ledger: 1, FirstEntry: 100},
			{FirstSequence: 15, Count: 1, Ledger: 2, FirstEntry: 0},
			{FirstSequence: 18, Count: 9, Ledger: 2, FirstEntry: 1},
		},
		failures: []*tidemarkv1.ProduceFailure{failure(16, 2)},
	}
	var called, waited []string
	outcome := func(want uint64, r Receipt, err error) string {
		if r.Sequence != want {
			t.Errorf("sequence %d, want %d", r.Sequence, want)
		}
		switch {
		case errors.Is(err, sdk.ErrTooLarge):
			return "failed"
		case err != nil:
			t.Error(err)
		case r.Duplicate:
			return "duplicate"
		}
		return r.Position.String()
	}
	for _, sequences := range [][]uint64{{10, 11, 12, 13, 14}, {15, 16, 17, 18}, {19, 20, 21, 22, 23}} {
		b := &batch{ended: make(chan struct{})}
		b.wire.FirstSequence, b.wire.Count = sequences[0], uint32(len(sequences))
		for _, s := range sequences {
			b.callbacks = append(b.callbacks, callback{s, func(r Receipt, err error) { called = append(called, outcome(s, r, err)) }})
		}
		v.skip(b.first())
		b.end(v)
		<-b.ended
		for _, s := range slices.Backward(sequences) { // in any order
			r, err := b.verdict.of(s)
			waited = append(waited, outcome(s, r, err))
		}
		slices.Reverse(waited[len(waited)-len(sequences):])
	}
	want := []string{
		"duplicate", "duplicate", "1:100", "1:101", "1:102", "2:0", "failed", "failed", "2:1",
		"2:2", "2:3", "2:4", "2:5", "2:6",
	}
	if !slices.Equal(called, want) || !slices.Equal(waited, want) {
		t.Errorf("called %v\nwaited %v\nwant   %v", called, waited, want)
	}
}

// The bytes of a message are copied when it is sent.
func TestS002BatchHoldsACopy(t *testing.T) {
	p := &Producer{link: &link{}, maxEntry: 1000, next: 1, maxBatch: 1000, options: ProducerOptions{MaxBatchMessages: 10}}
	payload := bytes.Repeat([]byte("A"), 100)
	m := message.Message{Payload: payload, Key: payload}
	p.put(&m, m.Size(), 1, nil)
	copy(payload, bytes.Repeat([]byte("B"), 100))
	if bytes.Contains(p.queue[0].wire.GetMessages(), []byte("B")) {
		t.Error("the batch changed with the slice")
	}
}
