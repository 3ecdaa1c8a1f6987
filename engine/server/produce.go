package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// maxSessions bounds the sessions of one produce stream.
const maxSessions = 10_000

// produceService takes messages.
type produceService struct {
	tidemarkv1.UnimplementedProduceServiceServer
	server *Server
}

// produceWire is the stream as gRPC gives it.
type produceWire = grpc.BidiStreamingServer[tidemarkv1.ProduceRequest, tidemarkv1.ProduceResponse]

// Produce runs one produce stream.
func (s *produceService) Produce(stream produceWire) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	p := &produceStream{
		server: s.server, wire: stream, ctx: ctx,
		sessions: map[uint32]*session{},
		work:     make(chan struct{}, 1),
		room:     make(chan struct{}, 1),
	}
	defer p.end()
	go p.receive() // ends when the stream's context does, at the latest with Produce
	return p.send()
}

// produceStream is one stream with its sessions.
type produceStream struct {
	server *Server
	wire   produceWire
	ctx    context.Context

	mu       sync.Mutex // guards all below, and what session says it guards
	sessions map[uint32]*session
	// dirty are sessions that have something to tell, strays what is to be
	// told of sessions that there are not.
	dirty  []*session
	strays []*tidemarkv1.ProduceFailure
	// unanswered is the bytes of messages, and pending the batches and opens,
	// that were received and are not answered.
	unanswered int64
	pending    int
	// received says that the client will send no more, receiveErr why.
	received   bool
	receiveErr error
	// draining says that nothing more is taken, ended that the stream is over.
	draining, ended bool

	// work has a token when there may be something to send, room when fewer
	// bytes are unanswered.
	work, room chan struct{}
}

// receive takes frames until the client ends or the stream does.
func (p *produceStream) receive() {
	frame := new(tidemarkv1.ProduceRequest)
	for {
		err := p.wire.RecvMsg(frame)
		if err == nil && p.take(frame) {
			err = p.waitForRoom()
		}
		if err != nil {
			p.stopReceiving(err)
			return
		}
	}
}

// take hands a frame to its sessions. It returns whether to wait for room.
func (p *produceStream) take(frame *tidemarkv1.ProduceRequest) (full bool) {
	for _, o := range frame.GetOpens() {
		p.open(o)
	}
	for _, b := range frame.GetBatches() {
		p.batch(b)
	}
	for _, id := range frame.GetCloses() {
		p.closeSession(id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unanswered > p.server.options.StreamBytes
}

// waitForRoom returns when more may be received.
func (p *produceStream) waitForRoom() error {
	for {
		p.mu.Lock()
		full := p.unanswered > p.server.options.StreamBytes
		p.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-p.room:
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
}

// stopReceiving notes that the client sends no more.
func (p *produceStream) stopReceiving(err error) {
	p.mu.Lock()
	p.received = true
	if !errors.Is(err, io.EOF) {
		p.receiveErr = err
	}
	p.mu.Unlock()
	notify(p.work)
}

// open begins a session. Opening may take long, so batches that come before its
// end wait in the session and hold up no other.
func (p *produceStream) open(o *tidemarkv1.ProduceOpen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := o.GetSession()
	switch {
	case p.draining:
		return
	case p.sessions[id] != nil:
		p.stray(id, fmt.Errorf("%w: session %d is open already", sdk.ErrInvalid, id))
		return
	case len(p.sessions) >= maxSessions:
		p.stray(id, fmt.Errorf("%w: a stream has at most %d sessions", sdk.ErrBusy, maxSessions))
		return
	}
	s := &session{stream: p, id: id, opening: true}
	p.sessions[id] = s
	p.pending++
	go s.open(o.GetTopic(), o.GetProducer()) // ends with the stream's context at the latest
}

// batch takes one batch.
func (p *produceStream) batch(b *tidemarkv1.ProduceBatch) {
	p.mu.Lock()
	s := p.sessions[b.GetSession()]
	if p.draining || s == nil || s.closing {
		if !p.draining && (s == nil || s.failed == nil) {
			p.stray(b.GetSession(), fmt.Errorf("%w: session %d is not open", sdk.ErrInvalid, b.GetSession()))
		}
		p.mu.Unlock()
		return
	}
	add, now := s.accept(b)
	p.mu.Unlock()
	if now {
		s.handOver(add)
	}
}

// closeSession ends a session once what it sent is answered.
func (p *produceStream) closeSession(id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sessions[id]; s != nil {
		s.closing = true
		p.touch(s)
	}
}

// stray tells of a session that there is not. Callers hold mu.
func (p *produceStream) stray(id uint32, err error) {
	p.strays = append(p.strays, sessionFailure(id, err))
	notify(p.work)
}

// touch notes that a session may have something to tell. Callers hold mu.
func (p *produceStream) touch(s *session) {
	if !s.dirty {
		s.dirty = true
		p.dirty = append(p.dirty, s)
	}
	notify(p.work)
}

// end closes what the stream holds. Answers that come later find it ended.
func (p *produceStream) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, s := range p.sessions {
		s.release()
	}
}

// notify puts a token in a channel that has room for one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
