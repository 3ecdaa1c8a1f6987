package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// Appended says where the messages of one append are: at First to Last in the
// order given, as consecutive entries of one ledger, or of several (Spans) when
// a store failure came between.
type Appended struct {
	managedledger.AddResult
	// Duplicates is how many of the messages, the first ones, were not stored
	// because a former append of the same producer had stored them. Where is
	// not known.
	Duplicates int
}

// Append stores messages, in order and each as an entry, and returns when they
// are durable. The bytes are copied before anything else happens. A message
// without a publish time gets the current one; publish times need not rise.
// Producer and Sequence are ignored, see [Topic.Producer].
//
// Append waits while too much is pending. If ctx ends first, the messages may
// be stored or not. Errors: [sdk.ErrTooLarge] and [sdk.ErrInvalid] store
// nothing, [ErrTerminated], [sdk.ErrUnavailable] and [sdk.ErrFull] say that
// nothing of it is stored, [sdk.ErrUnknownOutcome] that it may be.
func (t *Topic) Append(ctx context.Context, msgs ...message.Message) (Appended, error) {
	payloads, err := t.encode(msgs, "")
	if err != nil {
		return Appended{}, t.fail("append", err)
	}
	r, err := t.log.Add(ctx, payloads...)
	return Appended{AddResult: r}, t.fail("append", err)
}

// AppendAsync is Append that does not wait: done is called once, in the order
// of appends to this topic, when the messages are durable or have failed. It
// must not block, and may append again. If too much is pending AppendAsync
// fails with [sdk.ErrBusy]; if it returns an error done is never called.
func (t *Topic) AppendAsync(msgs []message.Message, done func(Appended, error)) error {
	payloads, err := t.encode(msgs, "")
	if err == nil {
		err = t.log.AddAsync(payloads, func(r managedledger.AddResult, err error) {
			done(Appended{AddResult: r}, t.fail("append", err))
		})
	}
	return t.fail("append", err)
}

// MaxEntryBytes returns the largest entry that is taken: an encoded message.
func (t *Topic) MaxEntryBytes() int {
	limit := t.log.Config().MaxEntryBytes
	if s := t.engine.info.MaxEntryBytes; s > 0 {
		limit = min(limit, s)
	}
	return limit
}

// encode copies messages into one chunk, as entries of the given producer (""
// means none).
func (t *Topic) encode(msgs []message.Message, producer string) ([][]byte, error) {
	if len(msgs) == 0 {
		return nil, fmt.Errorf("%w: no messages", sdk.ErrInvalid)
	}
	total, published := 0, time.Time{}
	limit := t.MaxEntryBytes()
	for i := range msgs {
		m := stamped(&msgs[i], producer, &published)
		size := m.Size()
		if size > limit {
			return nil, fmt.Errorf("message %d of %d: %w: an entry of %d bytes, max-entry-size is %d", i+1, len(msgs), sdk.ErrTooLarge, size, limit)
		}
		total += size
	}
	chunk := make([]byte, 0, total)
	payloads := make([][]byte, len(msgs))
	for i := range msgs {
		m := stamped(&msgs[i], producer, &published)
		from := len(chunk)
		chunk = m.AppendTo(chunk)
		payloads[i] = chunk[from:len(chunk):len(chunk)]
	}
	return payloads, nil
}

// stamped returns the message as it is stored: with a publish time, one for all
// of an append, and its producer.
func stamped(m *message.Message, producer string, published *time.Time) message.Message {
	s := *m
	if s.PublishTime.IsZero() {
		if published.IsZero() {
			*published = now()
		}
		s.PublishTime = *published
	}
	if s.Producer = producer; producer == "" {
		s.Sequence = 0
	}
	return s
}
