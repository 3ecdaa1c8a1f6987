package server

import (
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// send sends answers, as many as there are in one frame, until all is answered
// and the client sends no more, the stream breaks, or the server closes.
func (p *produceStream) send() error {
	closing := p.server.life.Done()
	for {
		frame, done := p.collect()
		if frame != nil {
			if err := p.wire.Send(frame); err != nil {
				return err
			}
		}
		if done {
			return p.result()
		}
		select {
		case <-p.work:
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-closing:
			closing = nil
			p.mu.Lock()
			p.draining = true
			p.mu.Unlock()
		}
	}
}

// result is what the stream ends with.
func (p *produceStream) result() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining {
		return errClosing
	}
	return p.receiveErr
}

// collect makes a frame of all that can be told now, nil if there is nothing,
// and says whether it is the last.
func (p *produceStream) collect() (frame *tidemarkv1.ProduceResponse, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.dirty) > 0 || len(p.strays) > 0 {
		frame = &tidemarkv1.ProduceResponse{Failures: p.strays}
		p.strays = nil
		before := p.unanswered
		for _, s := range p.dirty {
			s.dirty = false
			s.tell(frame)
			if s.closing && len(s.pending) == 0 && !s.opening {
				s.release()
				delete(p.sessions, s.id)
			}
		}
		clear(p.dirty)
		p.dirty = p.dirty[:0]
		if p.unanswered < before {
			notify(p.room)
		}
		if len(frame.GetOpened())+len(frame.GetAcknowledgements())+len(frame.GetFailures()) == 0 {
			frame = nil
		}
	}
	return frame, p.pending == 0 && (p.draining || p.received)
}

// sessionFailure says that a session as a whole failed.
func sessionFailure(id uint32, err error) *tidemarkv1.ProduceFailure {
	return &tidemarkv1.ProduceFailure{Session: id, Error: wire.Failure(err)}
}
