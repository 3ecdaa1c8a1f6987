package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
)

// run serves the stream until it ends.
func (c *consumeStream) run() error {
	c.next = c.cursor.ReadPosition()
	if err := c.wire.Send(&tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_Opened{
		Opened: &tidemarkv1.ConsumeOpened{Next: position(c.next)},
	}}); err != nil {
		return err
	}
	ticker := time.NewTicker(c.interval)
	defer ticker.Stop()
	finishing := false // the client sends no more; what it asked for is answered
	for {
		if !finishing {
			if err := c.read(); err != nil {
				return err
			}
		}
		if finishing && c.answers.allSent() {
			return nil
		}
		requests := c.requests
		if c.answers.full() {
			requests = nil
		}
		var err error
		select {
		case r := <-c.reads:
			err = c.arrived(r)
		case r := <-requests:
			err = c.handle(r)
		case err = <-c.received:
			if errors.Is(err, io.EOF) {
				finishing, err = true, nil
				c.stopReading()
			}
		case <-c.answers.ready:
			err = c.sendAnswers()
		case <-ticker.C:
			if c.waits && c.inFlight && len(c.reads) == 0 {
				err = c.beat(c.head)
			}
		case <-c.ctx.Done():
			err = c.cut()
		}
		if err != nil {
			return err
		}
	}
}

// cut ends the stream because the server closes, a newer stream has the cursor,
// or the client is gone.
func (c *consumeStream) cut() error {
	if !c.server.isClosing() {
		return context.Cause(c.ctx)
	}
	if err := c.sendAnswers(); err != nil {
		return err
	}
	if err := c.end(tidemarkv1.EndCause_END_CAUSE_SHUTDOWN); err != nil {
		return err
	}
	return errClosing
}

// handle does what the client asks for.
func (c *consumeStream) handle(r *tidemarkv1.ConsumeRequest) error {
	switch frame := r.GetFrame().(type) {
	case *tidemarkv1.ConsumeRequest_Permits:
		c.permit(frame.Permits)
		return nil
	case *tidemarkv1.ConsumeRequest_Acknowledge:
		c.acknowledge(frame.Acknowledge)
		return nil
	case *tidemarkv1.ConsumeRequest_Seek:
		c.seek(frame.Seek)
		return nil
	}
	return fmt.Errorf("%w: a frame holds permits, acknowledgements or a seek, and an open only as the first", sdk.ErrInvalid)
}

// permit adds permits.
func (c *consumeStream) permit(p *tidemarkv1.Permits) {
	const most = 1 << 50 // keeps the sums far from overflow
	c.entries = min(c.entries+min(p.GetEntries(), most), most)
	c.bytes = min(c.bytes+int64(min(p.GetBytes(), most)), most)
	if !c.permitted {
		c.permitted, c.countBytes = true, p.GetBytes() > 0
	}
}

// acknowledge hands an acknowledgement to the cursor and does not wait.
func (c *consumeStream) acknowledge(a *tidemarkv1.Acknowledge) {
	answer := c.answers.add(a.GetId())
	positions, upTo, err := acknowledged(a)
	if err != nil {
		answer.done(err)
		return
	}
	c.cursor.AcknowledgeAsync(positions, upTo, answer.done)
}

// acknowledged takes the positions out of an acknowledgement.
func acknowledged(a interface {
	GetUpTo() *tidemarkv1.Position
	GetPositions() []*tidemarkv1.Position
}) (positions []sdk.Position, upTo *sdk.Position, err error) {
	if a.GetUpTo() != nil {
		p, err := positionOf(a.GetUpTo())
		if err != nil {
			return nil, nil, err
		}
		upTo = &p
	}
	for _, one := range a.GetPositions() {
		p, err := positionOf(one)
		if err != nil {
			return nil, nil, err
		}
		positions = append(positions, p)
	}
	if upTo == nil && len(positions) == 0 {
		return nil, nil, fmt.Errorf("%w: an acknowledgement without positions", sdk.ErrInvalid)
	}
	return positions, upTo, nil
}

// seek moves the cursor. The read in flight ends first and is dropped, so that
// what follows the answer is from the new place.
func (c *consumeStream) seek(r *tidemarkv1.ConsumeSeek) {
	answer := c.answers.add(r.GetId())
	c.seeking = answer
	c.stopReading()
	start, err := startOf(c.ctx, c.topic, r.GetStart())
	if err == nil {
		err = c.cursor.Seek(c.ctx, start)
	}
	if err != nil {
		c.cursor.Rewind() // what was dropped comes again
	}
	c.next, c.waits, c.ended = c.cursor.ReadPosition(), false, false
	answer.done(err)
}

// read starts the next read if it is allowed and none is in flight.
func (c *consumeStream) read() error {
	if c.inFlight || c.ended || c.entries == 0 || c.countBytes && c.bytes <= 0 {
		return nil
	}
	if c.seeking != nil {
		if !c.seeking.told {
			return nil // what follows the answer is from the new place
		}
		c.seeking = nil
	}
	most := managedledger.Max{Entries: int(min(c.entries, frameEntries)), Bytes: c.pace.next()}
	if c.countBytes {
		most.Bytes = int(min(int64(most.Bytes), c.bytes))
	}
	c.inFlight, c.head = true, c.topic.LastConfirmed()
	err := c.cursor.ReadAsync(most, managedledger.ReadOptions{Wait: c.waits}, func(r managedledger.ReadResult, err error) {
		c.reads <- read{r, err} // has room
	})
	if err != nil {
		c.inFlight = false
	}
	return err
}

// stopReading ends the read in flight, if there is one, and drops what it read.
func (c *consumeStream) stopReading() {
	if c.inFlight && !c.cursor.CancelWait() {
		<-c.reads // a read that does not wait ends by itself
	}
	c.inFlight = false
}

// arrived sends what was read.
func (c *consumeStream) arrived(r read) error {
	c.inFlight = false
	switch {
	case errors.Is(r.err, reason.ErrNoMoreEntries):
		c.ended = true
		return c.end(tidemarkv1.EndCause_END_CAUSE_TERMINATED)
	case r.err != nil:
		return r.err
	}
	if r.result.Gone {
		gone := &tidemarkv1.ConsumeResponse_Gone{Gone: &tidemarkv1.Gone{Next: position(r.result.GoneUntil)}}
		if err := c.wire.Send(&tidemarkv1.ConsumeResponse{Frame: gone}); err != nil {
			return err
		}
	}
	c.next = r.result.Next
	n := len(r.result.Entries)
	if n == 0 {
		if !c.waits {
			c.waits = true
			return c.beat(c.head)
		}
		return nil
	}
	size := bytesOf(r.result.Entries)
	frame := &tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_Entries{Entries: pack(r.result)}}
	// r is not kept meanwhile, see readStream.send.
	if err := c.pace.goes(size, func() error { return c.wire.Send(frame) }); err != nil {
		return err
	}
	c.entries -= min(c.entries, uint64(n))
	c.bytes -= int64(size)
	c.server.meters.handedOut(n, size)
	return nil
}

// beat says that all up to head went out, if that is so.
func (c *consumeStream) beat(head sdk.Position) error {
	if !head.Before(c.next) {
		return nil
	}
	return c.wire.Send(&tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_Heartbeat{
		Heartbeat: &tidemarkv1.Heartbeat{LastConfirmed: position(head), Next: position(c.next)},
	}})
}

// end says why no more entries come.
func (c *consumeStream) end(cause tidemarkv1.EndCause) error {
	return c.wire.Send(&tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_End{
		End: &tidemarkv1.End{Cause: cause, Resume: position(c.next)},
	}})
}

// sendAnswers sends the answers that are there.
func (c *consumeStream) sendAnswers() error {
	for _, a := range c.answers.take() {
		if err := c.wire.Send(&tidemarkv1.ConsumeResponse{Frame: &tidemarkv1.ConsumeResponse_Answer{Answer: a}}); err != nil {
			return err
		}
	}
	return nil
}
