package client

import (
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// fill adds to a frame what the producer has to send, at most room bytes or one
// batch, and returns how many bytes that were and whether more is left. Only the
// link's goroutine calls it.
func (p *Producer) fill(frame *tidemarkv1.ProduceRequest, room int) (size int, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dirty = false
	if p.session == 0 || p.isWaiting {
		return 0, false
	}
	if p.openToSend {
		p.openToSend = false
		frame.Opens = append(frame.Opens, &tidemarkv1.ProduceOpen{Session: p.session, Topic: p.topic, Producer: p.name})
	}
	for len(p.queue) > 0 && (size == 0 || size < room) {
		b := p.queue[0]
		p.queue[0] = nil
		if p.queue = p.queue[1:]; len(p.queue) == 0 {
			p.queue = nil
		}
		b.sealed = true
		p.sent = append(p.sent, b)
		frame.Batches = append(frame.Batches, &tidemarkv1.ProduceBatch{
			Session: p.session, FirstSequence: b.first, Count: uint32(len(b.calls)), Messages: b.packed,
		})
		size += len(b.packed)
	}
	p.dirty = len(p.queue) > 0
	return size, p.dirty
}

// acknowledged takes an acknowledgement and the failures that came with it.
// Only the link's receiver calls it.
func (p *Producer) acknowledged(session uint32, ack *tidemarkv1.ProduceAcknowledgement, failures []*tidemarkv1.ProduceFailure) {
	p.mu.Lock()
	if session != p.session {
		p.mu.Unlock()
		return // of a session that was given up: its batches are sent again
	}
	upTo := ack.GetUpToSequence()
	failure, from := p.worst(failures)
	if from > 0 {
		upTo = from - 1 // all behind is sent again, in order
	}
	ended := 0
	for ended < len(p.sent) && p.sent[ended].last() <= upTo {
		ended++
	}
	batches := p.sent[:ended:ended]
	if p.sent = p.sent[ended:]; len(p.sent) == 0 {
		p.sent = nil
	}
	if ended > 0 && failure == nil {
		p.retrying = time.Time{}
		p.pause.reset()
	}
	p.release(batches)
	if failure != nil && p.name != "" {
		p.again(failure)
	}
	p.mu.Unlock()
	v := verdict{topic: p.topic, stored: ack.GetStored(), failures: failures}
	for _, b := range batches {
		v.end(b)
	}
	if failure != nil {
		p.expire(time.Now(), failure)
	}
	p.tellFlushes()
}

// worst returns the first failure that passes, with the sequence from which on
// messages have to be sent again; or else the first failure and 0. An anonymous
// producer sends nothing again.
func (p *Producer) worst(failures []*tidemarkv1.ProduceFailure) (err error, from uint64) {
	for _, f := range failures {
		if failure := wire.FailureError(f.GetError()); p.name != "" && passing(failure) {
			return failure, f.GetFirstSequence()
		} else if err == nil {
			err = failure
		}
	}
	return err, 0
}

// release takes batches off the books. Callers hold the lock.
func (p *Producer) release(batches []*batch) {
	for _, b := range batches {
		p.pending -= b.cost
	}
	if n := len(batches); n > 0 && cap(batches[n-1].packed) <= p.options.MaxBatchBytes {
		p.spare = batches[n-1].packed // was copied when it was sent
	}
	p.wakeSenders()
}

// wakeSenders lets those who wait for room look again. Callers hold the lock.
func (p *Producer) wakeSenders() {
	if p.room != nil {
		close(p.room)
		p.room = nil
	}
}

// again gives up the session and sends what is not answered in a new one, after
// a pause if the error is one that passes. Callers hold the lock.
func (p *Producer) again(err error) {
	if reason.Of(err) == reason.ProducerReplaced {
		p.session = 0
		p.link.drop(p, p.fail(err))
		return
	}
	p.link.closeSession(p.session)
	p.session = 0
	p.queue = append(p.sent, p.queue...)
	p.sent = nil
	if !passing(err) {
		p.restart()
		return
	}
	if p.retrying.IsZero() {
		p.retrying = time.Now()
	}
	p.isWaiting = true
	time.AfterFunc(p.pause.longer(), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.isWaiting = false
		p.restart()
	})
}

// restart begins a session on the present stream, if there is one. Callers hold
// the lock.
func (p *Producer) restart() {
	if p.session != 0 || p.isWaiting || p.broken != nil {
		return
	}
	if p.session = p.link.session(p); p.session != 0 {
		p.openToSend = true
		p.touch()
	}
}

// unlinked notes that the stream broke.
func (p *Producer) unlinked(err error) {
	p.mu.Lock()
	p.session, p.dirty = 0, false
	if p.retrying.IsZero() {
		p.retrying = time.Now()
	}
	var lost []*batch
	if p.name == "" {
		lost = p.sent
		p.release(lost)
	} else {
		p.queue = append(p.sent, p.queue...)
	}
	p.sent = nil
	p.mu.Unlock()
	for _, b := range lost {
		b.fail(p.fail(fmt.Errorf("%w: the connection broke: %w", sdk.ErrUnknownOutcome, err)))
	}
	p.expire(time.Now(), err)
}

// expire fails what is pending if nothing went through for too long.
func (p *Producer) expire(now time.Time, err error) {
	p.mu.Lock()
	if p.retrying.IsZero() || now.Sub(p.retrying) < p.options.RetryFor {
		p.mu.Unlock()
		return
	}
	waited := now.Sub(p.retrying).Round(time.Millisecond)
	err = p.fail(fmt.Errorf("no success for %v: %w", waited, err))
	if !p.isReady {
		p.broken = err
		p.becomeReady()
	}
	batches := append(p.sent, p.queue...)
	p.sent, p.queue = nil, nil
	p.release(batches)
	if p.session == 0 {
		p.retrying = now // what is sent from now on has its own time
	}
	p.mu.Unlock()
	p.failAll(batches, err)
}

// failAll fails batches that may have been sent.
func (p *Producer) failAll(batches []*batch, err error) {
	for _, b := range batches {
		if b.sealed {
			b.fail(fmt.Errorf("%w: %w", sdk.ErrUnknownOutcome, err))
		} else {
			b.fail(err)
		}
	}
	p.tellFlushes()
}

// leave ends the producer: what is pending fails with err.
func (p *Producer) leave(err error) {
	p.mu.Lock()
	if p.session != 0 {
		p.link.closeSession(p.session)
		p.session = 0
	}
	p.mu.Unlock()
	p.link.remove(p)
	p.end(err)
}

// end fails what is pending and all that is sent later.
func (p *Producer) end(err error) {
	p.mu.Lock()
	if p.broken == nil {
		p.broken = err
	}
	batches := append(p.sent, p.queue...)
	p.sent, p.queue = nil, nil
	p.release(batches)
	p.becomeReady()
	p.mu.Unlock()
	p.failAll(batches, err)
}

// tellFlushes lets those go whose messages have ended.
func (p *Producer) tellFlushes() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.flushes) == 0 {
		return
	}
	open := p.accepted + 1 // the lowest sequence that has not ended
	if len(p.sent) > 0 {
		open = p.sent[0].first
	} else if len(p.queue) > 0 {
		open = p.queue[0].first
	}
	kept := p.flushes[:0]
	for _, f := range p.flushes {
		if f.upTo < open {
			close(f.ended)
		} else {
			kept = append(kept, f)
		}
	}
	p.flushes = kept
}
