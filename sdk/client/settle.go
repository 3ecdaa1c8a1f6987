package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// fill adds to a frame what the producer has to send, as far as it has room, and
// returns how many bytes that were and whether more is left. The first thing in
// a frame goes whatever its size. Only the link's goroutine calls it.
func (p *Producer) fill(frame *tidemarkv1.ProduceRequest, room int) (size int, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dirty = false
	if p.session == 0 {
		return 0, false
	}
	fits := func(cost int) bool {
		if size+cost > room && len(frame.Opens)+len(frame.Batches) > 0 {
			p.dirty = true
			return false
		}
		size += cost
		return true
	}
	if p.openToSend {
		if !fits(len(p.topic) + len(p.name) + batchCost) {
			return size, true
		}
		p.openToSend = false
		frame.Opens = append(frame.Opens, &tidemarkv1.ProduceOpen{Session: p.session, Topic: p.topic, Producer: p.name})
	}
	if !p.isOpen || p.draining {
		return size, false
	}
	for len(p.queue) > 0 && fits(p.queue[0].size()+batchCost) {
		b := p.queue[0]
		p.queue[0] = nil
		if p.queue = p.queue[1:]; len(p.queue) == 0 {
			p.queue = nil
		}
		b.sealed, b.wire.Session = true, p.session
		p.sent = append(p.sent, b)
		frame.Batches = append(frame.Batches, &b.wire)
	}
	return size, p.dirty
}

// acknowledged takes an acknowledgement and the failures that came with it.
// Only the link's receiver calls it.
func (p *Producer) acknowledged(ack *tidemarkv1.ProduceAcknowledgement, failures []*tidemarkv1.ProduceFailure) {
	p.mu.Lock()
	if ack.GetSession() != p.session {
		p.mu.Unlock()
		return // of a session that was given up: its batches are sent again
	}
	upTo := ack.GetUpToSequence()
	from, failure := p.worst(failures)
	if from > 0 {
		upTo = min(upTo, from-1) // all behind is sent again, in order
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
		if last := batches[ended-1]; last.size() <= p.options.MaxBatchBytes {
			p.spare = last.wire.Messages // they were copied when they were sent
		}
	}
	p.takeOff(batches)
	p.answer(failure, from > 0)
	p.mu.Unlock()
	v := verdict{stored: ack.GetStored(), failures: failures}
	for _, b := range batches {
		v.skip(b.first())
		b.end(v)
	}
	p.told(len(batches))
	if from > 0 {
		p.expire(failure)
	}
}

// worst returns the first failure that passes, and the sequence from which on
// messages have to be sent again; or else 0 and the first failure. An anonymous
// producer sends nothing again.
func (p *Producer) worst(failures []*tidemarkv1.ProduceFailure) (from uint64, err error) {
	for _, f := range failures {
		if failure := wire.FailureError(f.GetError()); p.name != "" && passing(failure) {
			return f.GetFirstSequence(), failure
		} else if err == nil {
			err = failure
		}
	}
	return 0, err
}

// answer does what follows from a failure. After one that is final a new session
// begins, once all that went out is answered: the old one may wait for the
// messages that failed, and the topic's limits may be others now. Callers hold
// the lock.
func (p *Producer) answer(failure error, again bool) {
	switch {
	case again:
		p.again(failure)
	case errors.Is(failure, reason.ErrProducerReplaced):
		p.replaced(failure)
	case failure != nil:
		p.draining = true
	}
	if p.draining && len(p.sent) == 0 {
		p.giveUpSession()
		p.restart()
	}
}

// takeOff takes batches off the books. Whoever calls it, with the lock, tells
// their senders, and then calls told.
func (p *Producer) takeOff(batches []*batch) {
	for _, b := range batches {
		p.pending -= b.cost
	}
	p.telling += len(batches)
	p.wakeSenders()
}

// again gives up the session and sends what is not answered in a new one, after
// a pause. Callers hold the lock.
func (p *Producer) again(failure error) {
	p.giveUpSession()
	p.requeue()
	if p.retrying.IsZero() {
		p.retrying = time.Now()
	}
	time.AfterFunc(p.pause.longer(), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.restart() // unless the next stream has done so
	})
}

// requeue has what went out sent again. Callers hold the lock.
func (p *Producer) requeue() {
	if len(p.sent) > 0 {
		p.queue = append(p.sent, p.queue...)
		p.sent = nil
	}
}

// giveUpSession ends the session, if there is one. Callers hold the lock.
func (p *Producer) giveUpSession() {
	if p.session != 0 {
		p.link.closeSession(p.session)
	}
	p.noSession()
}

// noSession notes that there is no session. Callers hold the lock.
func (p *Producer) noSession() {
	p.session, p.isOpen, p.openToSend, p.draining = 0, false, false, false
}

// restart begins a session on the present stream, if there is one. Callers hold
// the lock.
func (p *Producer) restart() {
	if p.session != 0 || p.broken != nil {
		return
	}
	if p.session = p.link.session(p); p.session != 0 {
		p.openToSend = true
		p.touch()
	}
}

// replaced ends the producer because another one has its name now. Callers hold
// the lock.
func (p *Producer) replaced(err error) {
	p.giveUpSession()
	p.broken = p.fail(err)
	p.link.drop(p, p.broken)
}

// unlinked notes that the stream broke.
func (p *Producer) unlinked(err error) {
	p.mu.Lock()
	p.noSession()
	p.dirty = false
	if p.retrying.IsZero() {
		p.retrying = time.Now()
	}
	var lost []*batch
	if p.name == "" {
		lost, p.sent = p.sent, nil
		p.takeOff(lost)
	}
	p.requeue()
	p.mu.Unlock()
	p.tell(lost, p.fail(fmt.Errorf("%w: the connection broke: %w", sdk.ErrUnknownOutcome, err)))
	p.expire(err)
}

// expire fails what is pending if nothing went through for too long.
func (p *Producer) expire(err error) {
	p.mu.Lock()
	if p.retrying.IsZero() || time.Since(p.retrying) < p.options.RetryFor {
		p.mu.Unlock()
		return
	}
	err = p.fail(fmt.Errorf("no success for %v: %w", time.Since(p.retrying).Round(time.Millisecond), err))
	if !p.isReady {
		p.broken = err
		p.becomeReady()
	}
	p.requeue()
	batches := p.queue
	p.queue = nil
	p.takeOff(batches)
	if p.session == 0 {
		p.retrying = time.Now() // what is sent from now on has its own time
	}
	p.mu.Unlock()
	p.tell(batches, err)
}

// tell tells the senders of batches that they failed. The outcome of those that
// went out is unknown.
func (p *Producer) tell(batches []*batch, err error) {
	for _, b := range batches {
		if b.sealed && !errors.Is(err, sdk.ErrUnknownOutcome) {
			b.end(verdict{err: fmt.Errorf("%w: %w", sdk.ErrUnknownOutcome, err)})
		} else {
			b.end(verdict{err: err})
		}
	}
	p.told(len(batches))
}

// leave ends the producer: what is pending and all that is sent later fails with
// err, unless it had ended before.
func (p *Producer) leave(err error) {
	p.mu.Lock()
	p.giveUpSession()
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
	p.requeue()
	batches := p.queue
	p.queue = nil
	p.takeOff(batches)
	p.becomeReady()
	p.mu.Unlock()
	p.tell(batches, err)
}
