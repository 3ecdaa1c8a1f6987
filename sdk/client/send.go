package client

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// Send publishes a message and returns when it is durable. If ctx ends first
// the error is also [sdk.ErrUnknownOutcome]: the message may be stored. See
// [Producer.SendAsync] for the rest.
func (p *Producer) Send(ctx context.Context, m message.Message) (Receipt, error) {
	b, sequence, err := p.enqueue(ctx, &m, nil)
	if err != nil {
		return Receipt{}, err
	}
	select {
	case <-b.ended:
		return b.verdict.of(sequence)
	case <-ctx.Done():
		return Receipt{}, p.fail(fmt.Errorf("%w: %w", sdk.ErrUnknownOutcome, ctx.Err()))
	}
}

// SendAsync publishes a message and does not wait until it is durable: done is
// called then, once, in the order of messages; it must not block nor send. The
// bytes are copied. While more is pending than the options allow, SendAsync
// waits; if it returns an error, done is never called.
//
// A message with a Sequence gets that one, which must be above those before;
// others follow each other. PublishTime and Producer are set by the server.
// [sdk.ErrTooLarge], [reason.ErrProducerSequence], [reason.ErrTerminated],
// [reason.ErrProducerReplaced], [sdk.ErrClosed], [sdk.ErrUnavailable].
func (p *Producer) SendAsync(ctx context.Context, m message.Message, done func(Receipt, error)) error {
	_, _, err := p.enqueue(ctx, &m, done)
	return err
}

// enqueue puts a message in the queue, once there is room, and returns the
// batch that it is in. Without done the caller waits for the batch.
func (p *Producer) enqueue(ctx context.Context, m *message.Message, done func(Receipt, error)) (*batch, uint64, error) {
	sequence := m.Sequence
	m.Producer, m.Sequence, m.PublishTime = "", 0, time.Time{}
	size := m.Size()
	if err := p.waitForRoom(ctx, size+messageCost); err != nil {
		return nil, 0, p.fail(err)
	}
	defer p.mu.Unlock() // which waitForRoom left locked
	if sequence == 0 {
		sequence = p.next
	}
	switch {
	case size > p.maxEntry:
		return nil, 0, p.fail(fmt.Errorf("%w: a message of %d bytes, the topic takes at most %d", sdk.ErrTooLarge, size, p.maxEntry))
	case sequence <= p.accepted:
		return nil, 0, p.fail(fmt.Errorf("%w: %d after %d", reason.ErrProducerSequence, sequence, p.accepted))
	}
	return p.put(m, size, sequence, done), sequence, nil
}

// waitForRoom returns, holding the lock, once the message fits; on error
// without the lock.
func (p *Producer) waitForRoom(ctx context.Context, cost int) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.mu.Lock()
		switch {
		case p.broken != nil:
			err := p.broken
			p.mu.Unlock()
			return err
		case p.isClosed:
			p.mu.Unlock()
			return sdk.ErrClosed
		case p.pending == 0 || p.pending+cost <= p.options.MaxPendingBytes:
			return nil
		}
		if p.room == nil {
			p.room = make(chan struct{})
		}
		room := p.room
		p.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
		}
	}
}

// wakeSenders lets those who wait for room look again. Callers hold the lock.
func (p *Producer) wakeSenders() {
	if p.room != nil {
		close(p.room)
		p.room = nil
	}
}

// put adds a message to the last batch of the queue, or to a new one. Callers
// hold the lock.
func (p *Producer) put(m *message.Message, size int, sequence uint64, done func(Receipt, error)) *batch {
	p.accepted, p.next = sequence, sequence+1
	b := p.lastBatch()
	if b == nil || b.next() != sequence || p.full(b) || b.size()+size+binaryMax > p.maxBatch {
		b = &batch{}
		b.wire.FirstSequence, b.wire.Messages = sequence, p.spare[:0]
		p.spare = nil
		p.queue = append(p.queue, b)
	}
	b.wire.Messages = m.AppendPackedTo(b.wire.Messages)
	b.wire.Count++
	if done != nil {
		b.callbacks = append(b.callbacks, callback{sequence, done})
	} else if b.ended == nil {
		b.ended = make(chan struct{})
	}
	b.cost += size + messageCost
	p.pending += size + messageCost
	p.due(len(p.queue) > 1 || p.full(b))
	return b
}

// binaryMax is the most that the length before a message takes.
const binaryMax = 5

// full says whether nothing more goes into a batch.
func (p *Producer) full(b *batch) bool {
	return b.size() >= p.maxBatch || int(b.wire.GetCount()) >= p.options.MaxBatchMessages
}

// due sees to it that the queue is sent: now if it is full, else after the
// linger. Callers hold the lock.
func (p *Producer) due(full bool) {
	if full || p.options.Linger == 0 {
		p.touch()
	} else if p.timer == nil && !p.dirty {
		p.timer = time.AfterFunc(p.options.Linger, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.timer = nil
			p.touch()
		})
	}
}

// touch tells the link that there is something to send. Callers hold the lock.
func (p *Producer) touch() {
	if p.dirty || p.session == 0 || !p.openToSend && (!p.isOpen || p.draining) {
		return
	}
	p.dirty = true
	p.link.touch(p)
}

// lastBatch is the batch that is being filled. Callers hold the lock.
func (p *Producer) lastBatch() *batch {
	if len(p.queue) == 0 || p.queue[len(p.queue)-1].sealed {
		return nil
	}
	return p.queue[len(p.queue)-1]
}
