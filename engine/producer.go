package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

// Producer is one session of a named producer: appends through it carry rising
// sequence ids, and a message whose sequence is stored already is not stored
// again. So a caller that does not know what became of an append repeats it,
// with the same sequences, also after a crash of the process.
//
// A newer session of the same name ends an older one. Calls may come from many
// goroutines, but it is the caller who sees to it that sequences rise from call
// to call. Close the session when it is not needed any more.
type Producer struct {
	topic   *Topic
	record  *producerRecord
	session uint64
	closed  atomic.Bool
}

// Producer opens a session of the producer of that name; one of that name
// before it is over: its appends fail with [ErrProducerReplaced], but for those
// that were handed over, which end as they would have. A topic remembers the
// producers that stored something last, [Config.MaxProducersPerTopic] of them,
// and all with an open session. [ErrInvalidName]; [sdk.ErrBusy] when there are
// that many open sessions.
func (t *Topic) Producer(ctx context.Context, name string) (*Producer, error) {
	if err := CheckName("producer", name); err != nil {
		return nil, t.fail("open producer", err)
	}
	if err := t.usable(); err != nil {
		return nil, t.fail("open producer", err)
	}
	if err := t.producers.snapshots.enable(ctx); err != nil {
		return nil, t.fail("open producer", err)
	}
	if err := t.producers.snapshots.settle(ctx); err != nil {
		return nil, t.fail("open producer", err)
	}
	record, session, err := t.producers.open(name)
	if err != nil {
		return nil, t.fail("open producer", err)
	}
	return &Producer{topic: t, record: record, session: session}, nil
}

// Name returns the producer's name.
func (p *Producer) Name() string { return p.record.name }

// LastSequence returns the highest sequence that is stored; false if none is
// known. What is pending from a former session may still be added to it: a
// caller goes on behind this one, and repeats what it has no answer for.
func (p *Producer) LastSequence() (uint64, bool) { return p.record.lastStored() }

// Append stores messages as [Topic.Append] does. Their sequences rise from one
// to the next, and from the call before; gaps are fine. Messages at or below
// the highest stored sequence are duplicates: not stored, and counted in the
// answer. If some are pending, from a call before, the answer waits for their
// end.
//
// After an append that failed, for whatever reason, its messages must be sent
// again before later ones, which are refused with [ErrProducerSequence] until
// then; a caller that would rather give up on them opens a new session.
func (p *Producer) Append(ctx context.Context, msgs ...message.Message) (Appended, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		a, err := p.appendOnce(ctx, msgs)
		if !errors.Is(err, sdk.ErrBusy) {
			return a, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return Appended{}, p.fail(fmt.Errorf("%w: %w", ctx.Err(), err))
		}
	}
}

func (p *Producer) appendOnce(ctx context.Context, msgs []message.Message) (Appended, error) {
	type answer struct {
		a   Appended
		err error
	}
	answered := make(chan answer, 1)
	if err := p.AppendAsync(msgs, func(a Appended, err error) { answered <- answer{a, err} }); err != nil {
		return Appended{}, err
	}
	select {
	case r := <-answered:
		return r.a, r.err
	case <-ctx.Done():
		return Appended{}, p.fail(fmt.Errorf("%w: %w", sdk.ErrUnknownOutcome, ctx.Err()))
	}
}

// AppendAsync is Append that does not wait: done is called once, when the
// messages are durable, known as duplicates, or have failed, [sdk.ErrBusy] if
// too much is pending; perhaps before AppendAsync returns. It must not block,
// and may append again. AppendAsync itself fails for messages that cannot be
// taken and when topic or session are over; then done is never called.
func (p *Producer) AppendAsync(msgs []message.Message, done func(Appended, error)) error {
	if p.closed.Load() {
		return p.fail(sdk.ErrClosed)
	}
	if err := p.topic.usable(); err != nil {
		return p.fail(err)
	}
	for i := 1; i < len(msgs); i++ {
		if msgs[i].Sequence <= msgs[i-1].Sequence {
			return p.fail(fmt.Errorf("%w: message %d has %d behind %d", ErrProducerSequence, i+1, msgs[i].Sequence, msgs[i-1].Sequence))
		}
	}
	payloads, err := p.topic.encode(msgs, p.record.name)
	if err != nil {
		return p.fail(err)
	}
	p.record.take(newProducerAdd(p, msgs, payloads, done))
	return nil
}

// Close ends the session; what was handed over ends as it would have. The
// producer stays known.
func (p *Producer) Close() {
	if p.closed.CompareAndSwap(false, true) {
		p.record.leave(p.session)
	}
}

// fail says which producer an error concerns.
func (p *Producer) fail(err error) error {
	if err == nil {
		return nil
	}
	return p.topic.fail("append", fmt.Errorf("producer %q: %w", p.record.name, err))
}
