package client

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"google.golang.org/grpc"

	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

const (
	// frameBytes is how many bytes one frame holds at most, unless it holds a
	// single batch.
	frameBytes = 1 << 20
	// firstBytes is the same while the server has not said what it takes.
	firstBytes = 32 << 10
	// frameCloses is how many closes one frame holds at most.
	frameCloses = 1000
	closeCost   = 5
)

// link is the produce stream of one connection, shared by the producers that
// were given to it. One goroutine connects and sends, one receives.
//
// What producers have to send goes together: the sender takes all that is there
// each time it can send. So a message that comes alone goes at once, and of
// many that come at the same time each costs a small part of a frame.
type link struct {
	client  *Client
	service tidemarkv1.ProduceServiceClient

	// mu guards all below. It is taken while a producer's lock is held, never
	// the other way round.
	mu          sync.Mutex
	started     bool
	producers   map[*Producer]struct{}
	sessions    map[uint32]*Producer // of the present stream; nil: there is none
	lastSession uint32
	dirty       []*Producer
	closes      []uint32
	room        int // what a frame holds

	// wake has a token when there may be something to do.
	wake chan struct{}
	// spare is the backing of the former dirty; only the sender uses it.
	spare []*Producer
}

func newLink(c *Client, service tidemarkv1.ProduceServiceClient) *link {
	return &link{client: c, service: service, producers: map[*Producer]struct{}{}, wake: make(chan struct{}, 1)}
}

// add takes a producer in, and begins with the first one to connect. It returns
// false if the client is closed.
func (l *link) add(p *Producer) bool {
	l.mu.Lock()
	if !l.started {
		l.started = l.client.start(l.run) // ends with the client's life
	}
	started := l.started
	if started {
		l.producers[p] = struct{}{}
	}
	l.mu.Unlock()
	p.mu.Lock()
	p.restart()
	p.mu.Unlock()
	notify(l.wake)
	return started
}

// remove lets a producer go.
func (l *link) remove(p *Producer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.producers, p)
}

// session gives a producer a number on the present stream; 0 if there is none.
func (l *link) session(p *Producer) uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, member := l.producers[p]; l.sessions == nil || !member {
		return 0
	}
	l.lastSession++
	l.sessions[l.lastSession] = p
	return l.lastSession
}

// closeSession tells the server that a session is not used any more.
func (l *link) closeSession(session uint32) {
	l.mu.Lock()
	if l.sessions != nil {
		delete(l.sessions, session)
		l.closes = append(l.closes, session)
	}
	l.mu.Unlock()
	notify(l.wake)
}

// drop ends a producer on a goroutine that holds no lock of it.
func (l *link) drop(p *Producer, err error) {
	l.client.start(func() { // ends at once
		l.remove(p)
		p.end(err)
	}) // or else the end of the client's life ends the producer
}

// touch notes that a producer has something to send.
func (l *link) touch(p *Producer) {
	l.mu.Lock()
	l.dirty = append(l.dirty, p)
	first := len(l.dirty) == 1
	l.mu.Unlock()
	if first {
		notify(l.wake)
	}
}

// members returns the producers.
func (l *link) members() []*Producer {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*Producer, 0, len(l.producers))
	for p := range l.producers {
		all = append(all, p)
	}
	return all
}

// run keeps a stream as long as the client lives and there are producers.
func (l *link) run() {
	life := l.client.life
	var between pause
	for life.Err() == nil {
		if len(l.members()) == 0 {
			select {
			case <-l.wake:
			case <-life.Done():
			}
			continue
		}
		err := l.serve(life, &between)
		l.mu.Lock()
		l.sessions, l.dirty, l.closes = nil, nil, nil
		l.mu.Unlock()
		for _, p := range l.members() {
			p.unlinked(err)
		}
		between.wait(life)
	}
	for _, p := range l.members() {
		l.remove(p)
		p.end(errClosed)
	}
}

// serve makes a stream and sends over it until it breaks, and returns why.
func (l *link) serve(life context.Context, between *pause) error {
	ctx, cancel := context.WithCancel(life)
	defer cancel()
	stream, err := l.service.Produce(ctx)
	if err != nil {
		return wire.Error(err)
	}
	l.mu.Lock()
	l.sessions, l.lastSession, l.room = map[uint32]*Producer{}, 0, firstBytes
	l.mu.Unlock()
	for _, p := range l.members() {
		p.mu.Lock()
		p.restart()
		p.mu.Unlock()
	}
	received := make(chan error, 1)
	go func() { received <- l.receive(stream, between) }() // ends with ctx, and before serve does
	for {
		frame := l.gather()
		if frame != nil {
			if stream.Send(frame) != nil {
				return <-received // says why
			}
			continue
		}
		select {
		case <-l.wake:
			// Those who were woken together with us, by the answer to the same
			// frame, get to send before we look.
			runtime.Gosched()
		case err := <-received:
			return err
		}
	}
}

// gather makes a frame of what producers have to send, nil if that is nothing.
func (l *link) gather() *tidemarkv1.ProduceRequest {
	l.mu.Lock()
	dirty := l.dirty
	l.dirty = l.spare[:0]
	n := min(len(l.closes), frameCloses)
	frame := &tidemarkv1.ProduceRequest{Closes: l.closes[:n:n]}
	l.closes = l.closes[n:]
	room := l.room - n*closeCost
	l.mu.Unlock()
	for i, p := range dirty {
		if room <= 0 {
			l.putBack(dirty[i:])
			break
		}
		size, more := p.fill(frame, room)
		room -= size
		if more {
			l.putBack(dirty[i : i+1])
		}
	}
	clear(dirty)
	l.spare = dirty[:0]
	if len(frame.GetOpens())+len(frame.GetBatches())+len(frame.GetCloses()) == 0 {
		return nil
	}
	return frame
}

// putBack keeps producers for the next frame.
func (l *link) putBack(producers []*Producer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dirty = append(l.dirty, producers...)
}

// receive takes answers until the stream ends, and returns why it did.
func (l *link) receive(stream grpc.BidiStreamingClient[tidemarkv1.ProduceRequest, tidemarkv1.ProduceResponse], between *pause) error {
	for {
		frame, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("produce stream: %w", wire.Error(err))
		}
		between.reset()
		for _, o := range frame.GetOpened() {
			l.opened(o)
		}
		var failures map[uint32][]*tidemarkv1.ProduceFailure
		for _, f := range frame.GetFailures() {
			if f.GetCount() == 0 {
				l.refused(f)
				continue
			}
			if failures == nil {
				failures = map[uint32][]*tidemarkv1.ProduceFailure{}
			}
			failures[f.GetSession()] = append(failures[f.GetSession()], f)
		}
		for _, a := range frame.GetAcknowledgements() {
			if p := l.producer(a.GetSession()); p != nil {
				p.acknowledged(a, failures[a.GetSession()])
			}
		}
	}
}

// opened takes the server's answer to an open.
func (l *link) opened(o *tidemarkv1.ProduceOpened) {
	l.mu.Lock()
	if l.room = frameBytes; o.GetMaxFrameBytes() > 0 {
		l.room = int(min(frameBytes, o.GetMaxFrameBytes()-min(o.GetMaxFrameBytes(), wire.FrameSlack)))
	}
	l.mu.Unlock()
	if p := l.producer(o.GetSession()); p != nil {
		p.opened(o)
	}
}

// producer returns whose session that is; nil if it was given up.
func (l *link) producer(session uint32) *Producer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[session]
}

// refused takes the failure of a session as a whole.
func (l *link) refused(f *tidemarkv1.ProduceFailure) {
	p := l.producer(f.GetSession())
	if p == nil {
		return
	}
	err := wire.FailureError(f.GetError())
	p.mu.Lock()
	if p.session != f.GetSession() {
		p.mu.Unlock()
		return
	}
	if passing(err) {
		p.again(err)
		p.mu.Unlock()
		p.expire(err)
		return
	}
	p.mu.Unlock()
	p.leave(p.fail(err))
}
