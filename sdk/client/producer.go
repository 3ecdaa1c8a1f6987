package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// Receipt says where a message is.
type Receipt struct {
	// Sequence is the message's among all of its producer.
	Sequence uint64
	// Position is where it is stored; of a duplicate that is not known.
	Position sdk.Position
	// Duplicate says that the message had been stored before.
	Duplicate bool
}

// Producer publishes to one topic. Its methods may be called at the same time
// from many goroutines; messages of one goroutine are stored in its order.
// Close it when it is not needed any more.
type Producer struct {
	link    *link
	topic   string
	name    string
	options ProducerOptions

	mu sync.Mutex // guards all below

	// session is the number on the present stream, 0 if there is none.
	session    uint32
	openToSend bool
	// ready is closed when the server has opened the producer for the first
	// time, or never will.
	ready     chan struct{}
	isReady   bool
	maxEntry  int
	last      uint64 // the highest sequence that was stored when it was opened
	hasLast   bool
	broken    error // why it is of no use any more
	isClosed  bool
	retrying  time.Time // since when nothing goes through; zero: it does
	pause     pause
	isWaiting bool // for the pause between two tries

	next     uint64 // the sequence of the next message
	accepted uint64 // the highest sequence that was taken
	queue    []*batch
	sent     []*batch
	pending  int           // what the messages in queue and sent count for
	room     chan struct{} // closed when pending falls; nil if nobody waits
	dirty    bool          // the link knows that there is something to send
	timer    *time.Timer   // of the linger; nil while it does not run
	flushes  []flush
	spare    []byte // a buffer that a batch gave back
}

// Producer opens a producer of a topic. It returns when the server has opened
// it. [reason.ErrTopicNotFound], [sdk.ErrUnavailable] when the server cannot be
// reached for as long as the options say.
func (c *Client) Producer(ctx context.Context, topic string, o ProducerOptions) (*Producer, error) {
	o, err := o.complete(c.options)
	if err != nil {
		return nil, err
	}
	if c.life.Err() != nil {
		return nil, errClosed
	}
	p := &Producer{topic: topic, name: o.Name, options: o, ready: make(chan struct{})}
	if p.name == "" && !o.Anonymous {
		if p.name, err = randomName(); err != nil {
			return nil, err
		}
	}
	p.link = c.links[c.nextOne.Add(1)%uint64(len(c.links))]
	p.retrying = time.Now()
	p.link.add(p)
	select {
	case <-p.ready:
	case <-ctx.Done():
		p.leave(fmt.Errorf("client: open producer of topic %q: %w", topic, ctx.Err()))
		return nil, fmt.Errorf("client: open producer of topic %q: %w", topic, ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p, p.broken
}

// randomName is a name that no other producer has.
func randomName() (string, error) {
	var id [12]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("client: name for a producer: %w", err)
	}
	return "client-" + hex.EncodeToString(id[:]), nil
}

// Name returns the producer's name, empty for an anonymous one.
func (p *Producer) Name() string { return p.name }

// LastSequence returns the highest sequence that the topic had stored of this
// name when the producer was opened; false if there was none. Messages that do
// not say otherwise go on behind it.
func (p *Producer) LastSequence() (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.hasLast
}

// MaxEntryBytes returns the largest entry that the topic took when the producer
// was last opened: a message with its key, attributes and a few bytes of
// encoding.
func (p *Producer) MaxEntryBytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.maxEntry
}

// Send publishes a message and returns when it is durable. If ctx ends first
// the error is also [sdk.ErrUnknownOutcome]: the message may be stored. See
// [Producer.SendAsync] for the rest.
func (p *Producer) Send(ctx context.Context, m message.Message) (Receipt, error) {
	w := p.link.client.waiter()
	if err := p.enqueue(ctx, &m, call{waiter: w}); err != nil {
		return Receipt{}, err
	}
	select {
	case <-w.ended:
		receipt, err := w.receipt, w.err
		w.receipt, w.err = Receipt{}, nil
		p.link.client.waiters.Put(w)
		return receipt, err
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
	return p.enqueue(ctx, &m, call{done: done})
}

// enqueue puts a message in the queue, once there is room.
func (p *Producer) enqueue(ctx context.Context, m *message.Message, c call) error {
	c.sequence = m.Sequence
	m.Producer, m.Sequence, m.PublishTime = "", 0, time.Time{}
	size := m.Size()
	if err := p.waitForRoom(ctx, size+messageCost); err != nil {
		return p.fail(err)
	}
	err := p.put(m, size, c) // with the lock that waitForRoom left
	p.mu.Unlock()
	return p.fail(err)
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
			p.mu.Unlock()
			return p.broken
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

// put adds a message to the last batch of the queue, or to a new one. Callers
// hold the lock.
func (p *Producer) put(m *message.Message, size int, c call) error {
	if size > p.maxEntry {
		return fmt.Errorf("%w: a message of %d bytes, the topic takes at most %d", sdk.ErrTooLarge, size, p.maxEntry)
	}
	if c.sequence == 0 {
		c.sequence = p.next
	}
	if c.sequence <= p.accepted {
		return fmt.Errorf("%w: %d after %d", reason.ErrProducerSequence, c.sequence, p.accepted)
	}
	p.accepted, p.next = c.sequence, c.sequence+1
	b := p.lastBatch()
	if b == nil || b.sequence(len(b.calls)) != c.sequence || len(b.calls) >= p.options.MaxBatchMessages || len(b.packed)+size > p.options.MaxBatchBytes {
		b = &batch{first: c.sequence, packed: p.spare[:0]}
		p.spare = nil
		p.queue = append(p.queue, b)
	}
	b.packed = m.AppendPackedTo(b.packed)
	b.calls = append(b.calls, c)
	b.cost += size + messageCost
	p.pending += size + messageCost
	p.due(len(p.queue) > 1 || len(b.packed) >= p.options.MaxBatchBytes || len(b.calls) >= p.options.MaxBatchMessages)
	return nil
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
	if !p.dirty && p.session != 0 && !p.isWaiting {
		p.dirty = true
		p.link.touch(p)
	}
}

// lastBatch is the batch that is being filled. Callers hold the lock.
func (p *Producer) lastBatch() *batch {
	if len(p.queue) == 0 || p.queue[len(p.queue)-1].sealed {
		return nil
	}
	return p.queue[len(p.queue)-1]
}

// Flush returns when all that was sent before has ended, well or not. An error
// says that ctx ended first.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.Lock()
	if len(p.queue)+len(p.sent) == 0 {
		p.mu.Unlock()
		return nil
	}
	f := flush{upTo: p.accepted, ended: make(chan struct{})}
	p.flushes = append(p.flushes, f)
	if p.timer != nil && p.timer.Stop() {
		p.timer = nil
	}
	p.touch()
	p.mu.Unlock()
	select {
	case <-f.ended:
		return nil
	case <-ctx.Done():
		return p.fail(fmt.Errorf("flush: %w", ctx.Err()))
	}
}

// flush is somebody who waits for the end of all messages up to a sequence.
type flush struct {
	upTo  uint64
	ended chan struct{}
}

// Close waits until all that was sent has ended and closes the producer. When
// ctx ends first, what is left fails.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	p.isClosed = true
	p.wakeSenders()
	p.mu.Unlock()
	err := p.Flush(ctx)
	p.leave(sdk.ErrClosed)
	return err
}

// fail says which producer an error is about.
func (p *Producer) fail(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("client: produce to topic %q: %w", p.topic, err)
}

// opened takes the server's answer to an open.
func (p *Producer) opened(o *tidemarkv1.ProduceOpened) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.maxEntry = int(o.GetMaxEntryBytes())
	if len(p.sent)+len(p.queue) == 0 {
		p.retrying = time.Time{} // else the first acknowledgement says so
	}
	if p.isReady {
		return
	}
	if o.LastSequence != nil {
		p.last, p.hasLast = o.GetLastSequence(), true
	}
	p.next = p.last + 1
	p.becomeReady()
}

// becomeReady lets the opener go. Callers hold the lock.
func (p *Producer) becomeReady() {
	if !p.isReady {
		p.isReady = true
		close(p.ready)
	}
}
