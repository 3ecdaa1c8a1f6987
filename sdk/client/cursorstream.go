package client

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// consumeWire is the stream as gRPC gives it.
type consumeWire = grpc.BidiStreamingClient[tidemarkv1.ConsumeRequest, tidemarkv1.ConsumeResponse]

// run keeps a stream for the cursor as long as it lives.
func (u *Cursor) run() {
	defer close(u.ended)
	defer u.endLife()
	var t attempts
	for {
		err := u.serve(&t)
		if u.life.Err() != nil {
			err = sdk.ErrClosed
		} else if err = t.again(u.life, u.client, err); err == nil {
			continue
		}
		u.end(err)
		return
	}
}

// serve runs one stream until it breaks, and returns why.
func (u *Cursor) serve(t *attempts) error {
	ctx, cancel := context.WithCancel(u.life)
	defer cancel()
	stream, err := u.client.read.Consume(ctx)
	if err != nil {
		return wire.Error(err)
	}
	received := make(chan error, 1)
	go func() { received <- u.receive(stream, t) }() // ends with ctx, and before serve does
	for _, first := range u.begin() {
		if stream.Send(first) != nil {
			return <-received // says why
		}
	}
	for {
		for _, frame := range u.toSend() {
			if stream.Send(frame) != nil {
				return <-received
			}
		}
		select {
		case <-u.wake:
		case err := <-received:
			return err
		}
	}
}

// begin returns the first frames of a new stream.
func (u *Cursor) begin() []*tidemarkv1.ConsumeRequest {
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.options
	open := &tidemarkv1.ConsumeOpen{
		Topic: u.topic, Cursor: u.name, Start: o.From.start, Ephemeral: o.Ephemeral,
		MustExist: o.MustExist || u.isReady && !o.Ephemeral, MaxFrameBytes: uint32(o.FrameBytes),
	}
	if o.Ephemeral && u.hasNext { // the old one went with the stream
		open.Start = At(u.next).start
	}
	u.again = u.hasLast
	if o.Heartbeat > 0 {
		open.HeartbeatInterval = durationpb.New(o.Heartbeat)
	}
	u.unsent = len(u.requests)
	// All that is in the queue was sent by the former stream, and uses permits.
	window := permits{entries: uint64(o.WindowEntries), bytes: uint64(o.WindowBytes)}
	for _, b := range u.queue {
		window.entries -= min(window.entries, uint64(b.count))
		window.bytes -= min(window.bytes, uint64(b.size))
	}
	u.granted = permits{entries: max(window.entries, 1), bytes: max(window.bytes, 1)}
	return []*tidemarkv1.ConsumeRequest{{Frame: &tidemarkv1.ConsumeRequest_Open{Open: open}}}
}

// toSend returns the frames that there are to send.
func (u *Cursor) toSend() []*tidemarkv1.ConsumeRequest {
	u.mu.Lock()
	defer u.mu.Unlock()
	var frames []*tidemarkv1.ConsumeRequest
	for _, r := range u.requests[len(u.requests)-u.unsent:] {
		frames = append(frames, r.frame)
	}
	u.unsent = 0
	if u.granted != (permits{}) {
		frames = append(frames, &tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Permits{
			Permits: &tidemarkv1.Permits{Entries: u.granted.entries, Bytes: u.granted.bytes},
		}})
		u.granted = permits{}
	}
	return frames
}

// receive takes frames until the stream ends, and returns why it did.
func (u *Cursor) receive(stream consumeWire, t *attempts) error {
	for {
		frame, err := stream.Recv()
		if err != nil {
			return wire.Error(err)
		}
		t.succeeded()
		if err := u.arrived(frame); err != nil {
			return err
		}
	}
}

// arrived takes one frame.
func (u *Cursor) arrived(frame *tidemarkv1.ConsumeResponse) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch f := frame.GetFrame().(type) {
	case *tidemarkv1.ConsumeResponse_Opened:
		u.next, u.hasNext = positionOf(f.Opened.GetNext()), true
		u.becomeReady()
	case *tidemarkv1.ConsumeResponse_Entries:
		b, err := entriesOf(f.Entries)
		if err != nil {
			return err
		}
		u.received(b)
	case *tidemarkv1.ConsumeResponse_Heartbeat:
		u.told(Batch{Next: positionOf(f.Heartbeat.GetNext()), AtHead: true, Head: positionOf(f.Heartbeat.GetLastConfirmed())})
	case *tidemarkv1.ConsumeResponse_Gone:
		u.told(Batch{Next: positionOf(f.Gone.GetNext()), Gone: true})
	case *tidemarkv1.ConsumeResponse_Answer:
		u.answered(f.Answer)
	case *tidemarkv1.ConsumeResponse_End:
		if f.End.GetCause() == tidemarkv1.EndCause_END_CAUSE_TERMINATED {
			u.over = true
			notify(u.news)
		}
	}
	return nil
}

// received puts a batch in the queue, without what came before over a former
// stream. Callers hold the lock.
func (u *Cursor) received(b Batch) {
	u.next = b.Next
	for u.again && len(b.Entries) > 0 {
		e := &b.Entries[0]
		if e.Position.After(u.last) {
			u.again = false
			break
		}
		n := e.Size()
		u.granted.entries++
		u.granted.bytes += uint64(n)
		b.count--
		b.size -= n
		b.Entries = b.Entries[1:]
		notify(u.wake)
	}
	if n := len(b.Entries); n > 0 {
		u.last, u.hasLast = b.Entries[n-1].Position, true
		u.queue = append(u.queue, b)
		notify(u.news)
	}
}

// told puts in the queue what is no entries. Of several that say that the head
// was reached only the last is kept. Callers hold the lock.
func (u *Cursor) told(b Batch) {
	u.next = b.Next
	if n := len(u.queue); b.AtHead && n > 0 && u.queue[n-1].AtHead && len(u.queue[n-1].Entries) == 0 {
		u.queue[n-1] = b
	} else {
		u.queue = append(u.queue, b)
	}
	notify(u.news)
}

// answered ends the requests that an answer is about. Callers hold the lock.
func (u *Cursor) answered(a *tidemarkv1.Answer) {
	for len(u.requests) > 0 && u.requests[0].id <= a.GetId() {
		r := u.requests[0]
		u.requests[0] = nil
		u.requests = u.requests[1:]
		u.unsent = min(u.unsent, len(u.requests))
		var err error
		if r.id == a.GetId() {
			err = wire.FailureError(a.GetError())
		}
		if r.seek && err == nil {
			u.moved()
		} else if r.seek {
			u.again = u.hasLast // the server begins anew behind what is acknowledged
		}
		r.ended <- err
	}
}

// moved drops what came from before a seek. Callers hold the lock.
func (u *Cursor) moved() {
	for _, b := range u.queue {
		u.grant(b)
	}
	u.queue, u.hasLast, u.again, u.over = nil, false, false, false
	u.seeks++
	notify(u.wake)
}

// becomeReady lets the opener go. Callers hold the lock.
func (u *Cursor) becomeReady() {
	if !u.isReady {
		u.isReady = true
		close(u.ready)
	}
}

// end makes the cursor of no use.
func (u *Cursor) end(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.broken = fmt.Errorf("it is over: %w", err)
	for _, r := range u.requests {
		r.ended <- u.broken
	}
	u.requests, u.unsent = nil, 0
	if !u.isReady {
		u.broken = u.fail(err)
		u.becomeReady()
	}
	notify(u.news)
}
