package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
	"github.com/tidemark-engine/tidemark/sdk/wire"
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

	// session is the number on the present stream, 0 if there is none. It is
	// open when the server has said so; only then batches go out.
	session    uint32
	openToSend bool
	isOpen     bool
	// draining keeps batches back until all that went out is answered; then a
	// new session begins.
	draining bool
	// ready is closed when the server has opened the producer for the first
	// time, or never will.
	ready    chan struct{}
	isReady  bool
	maxEntry int
	maxBatch int    // bytes
	last     uint64 // the highest sequence that was stored when it was opened
	hasLast  bool
	broken   error // why it is of no use any more
	isClosed bool
	// retrying is since when nothing goes through; zero: it does.
	retrying time.Time
	pause    pause // between two tries

	next     uint64 // the sequence of the next message
	accepted uint64 // the highest sequence that was taken
	queue    []*batch
	sent     []*batch
	telling  int           // batches that have ended and whose senders do not know yet
	pending  int           // what the messages in queue and sent count for
	room     chan struct{} // closed when pending falls; nil if nobody waits
	dirty    bool          // the link knows that there is something to send
	timer    *time.Timer   // of the linger; nil while it does not run
	flushes  []flush
	spare    []byte // a buffer that a batch gave back
}

// Producer opens a producer of a topic. It returns when the server has opened
// it. [reason.ErrTopicNotFound], [reason.ErrInvalidName], [sdk.ErrUnavailable]
// when the server cannot be reached for as long as the options say.
func (c *Client) Producer(ctx context.Context, topic string, o ProducerOptions) (*Producer, error) {
	o, err := o.complete(c.options)
	if err == nil {
		err = checkNames(topic, o.Name)
	}
	if err != nil {
		return nil, err
	}
	p := &Producer{topic: topic, name: o.Name, options: o, ready: make(chan struct{}), retrying: time.Now()}
	if p.name == "" && !o.Anonymous {
		if p.name, err = randomName(); err != nil {
			return nil, err
		}
	}
	p.link = c.links[c.nextOne.Add(1)%uint64(len(c.links))]
	if !p.link.add(p) {
		return nil, errClosed
	}
	select {
	case <-p.ready:
	case <-ctx.Done():
		p.leave(p.fail(ctx.Err()))
	case <-c.life.Done():
		p.leave(errClosed)
	}
	if err := p.failure(); err != nil {
		p.leave(err)
		return nil, err
	}
	return p, nil
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

// failure returns why the producer is of no use; nil if it is.
func (p *Producer) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// fail says which producer an error is about.
func (p *Producer) fail(err error) error {
	if err == nil {
		return nil
	}
	return about(p.topic, "produce", err)
}

// opened takes the server's answer to an open.
func (p *Producer) opened(o *tidemarkv1.ProduceOpened) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.GetSession() != p.session {
		return
	}
	if p.isReady && o.GetLastSequence() > max(p.accepted, p.last) {
		p.replaced(fmt.Errorf("%w: meanwhile somebody else has stored up to sequence %d", reason.ErrProducerReplaced, o.GetLastSequence()))
		return
	}
	p.isOpen = true
	p.maxEntry = int(o.GetMaxEntryBytes())
	p.maxBatch = p.options.MaxBatchBytes
	if frame := o.GetMaxFrameBytes(); frame > wire.FrameSlack {
		p.maxBatch = int(min(uint64(p.maxBatch), frame-wire.FrameSlack))
	}
	if len(p.sent)+len(p.queue) == 0 {
		p.retrying = time.Time{} // else the first acknowledgement says so
	}
	if !p.isReady {
		if o.LastSequence != nil {
			p.last, p.hasLast = o.GetLastSequence(), true
		}
		p.next = p.last + 1
		p.becomeReady()
	}
	if len(p.queue) > 0 {
		p.touch()
	}
}

// becomeReady lets the opener go. Callers hold the lock.
func (p *Producer) becomeReady() {
	if !p.isReady {
		p.isReady = true
		close(p.ready)
	}
}
