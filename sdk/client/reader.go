package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// ReadOptions are how a [Reader] reads. The zero value reads from the earliest
// entry to the tail.
type ReadOptions struct {
	// From is where to begin.
	From Start
	// Follow goes on with what is published later instead of ending at the
	// tail.
	Follow bool
	// MaxEntries ends the reading after so many entries; 0 means no limit.
	MaxEntries uint64
	// FrameBytes bounds a batch; 0 leaves it to the server. A single entry may
	// exceed it.
	FrameBytes int
	// Heartbeat is how often to hear that nothing was published; 0 leaves it to
	// the server. At least a second.
	Heartbeat time.Duration
}

// Reader reads a topic from a place on, without leaving a trace at the server.
// It is used by one goroutine at a time.
type Reader struct {
	client  *Client
	topic   string
	options ReadOptions
	next    sdk.Position // where to go on
	begun   bool         // next is known
	read    uint64
}

// Reader returns a reader. Nothing is sent before it is ranged over.
func (c *Client) Reader(topic string, o ReadOptions) *Reader {
	return &Reader{client: c, topic: topic, options: o}
}

// Position returns where reading goes on, and whether anything came yet.
func (r *Reader) Position() (next sdk.Position, begun bool) { return r.next, r.begun }

// Batches reads. It yields batches as they come, also those without entries
// that say that the head was reached ([Batch.AtHead]) or that entries are gone.
// An error is yielded once and last; without Follow the sequence ends at the
// tail, with it at the end of a terminated topic. Leaving the loop ends the
// stream; ranging again goes on behind the last batch. While a connection is
// broken it tries again for as long as [Options.RetryFor] says.
func (r *Reader) Batches(ctx context.Context) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		var t attempts
		for {
			done, err := r.stream(ctx, &t, yield)
			if done {
				return
			}
			if err = t.again(ctx, r.client, err); err != nil {
				yield(Batch{}, about(r.topic, "read", err))
				return
			}
		}
	}
}

// Entries is Batches entry by entry, without what has no entries. Leaving the
// loop in the middle of a batch loses nothing: ranging again goes on behind the
// last entry that was yielded.
func (r *Reader) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for b, err := range r.Batches(ctx) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for i, e := range b.Entries {
				if i == len(b.Entries)-1 {
					r.next = b.Next
				} else {
					r.next = sdk.Position{Ledger: e.Position.Ledger, Entry: e.Position.Entry + 1}
				}
				if !yield(e, nil) {
					r.read -= uint64(len(b.Entries) - 1 - i)
					return
				}
			}
		}
	}
}

// stream reads over one stream. done says that nothing is left to do.
func (r *Reader) stream(ctx context.Context, t *attempts, yield func(Batch, error) bool) (done bool, err error) {
	if err := checkNames(r.topic, r.options.From.start.GetCursor()); err != nil {
		return false, err
	}
	ctx, cancel := r.client.within(ctx)
	defer cancel()
	if r.options.MaxEntries > 0 && r.read >= r.options.MaxEntries {
		return true, nil
	}
	stream, err := r.client.read.Read(ctx, r.request())
	if err != nil {
		return false, wire.Error(err)
	}
	ended := false // the server said that there is no more
	for {
		frame, err := stream.Recv()
		if err == io.EOF && !ended {
			err = fmt.Errorf("%w: the stream ended in the middle", sdk.ErrUnavailable)
		}
		if err != nil {
			return err == io.EOF, wire.Error(err)
		}
		if ended = finished(frame.GetEnd()); frame.GetEnd() == nil {
			t.succeeded()
		}
		b, tells, err := r.take(frame)
		if err != nil {
			return false, err
		}
		if tells && !yield(b, nil) {
			return true, nil
		}
	}
}

// finished says whether that is the end of what was asked for, and not just of
// the stream.
func finished(end *tidemarkv1.End) bool {
	switch end.GetCause() {
	case tidemarkv1.EndCause_END_CAUSE_TAIL, tidemarkv1.EndCause_END_CAUSE_LIMIT, tidemarkv1.EndCause_END_CAUSE_TERMINATED:
		return true
	}
	return false
}

// request asks for what was not read yet.
func (r *Reader) request() *tidemarkv1.ReadRequest {
	q := &tidemarkv1.ReadRequest{
		Topic: r.topic, Start: r.options.From.start, Follow: r.options.Follow, MaxFrameBytes: uint32(max(r.options.FrameBytes, 0)),
	}
	if r.begun {
		q.Start = At(r.next).start
	}
	if r.options.MaxEntries > 0 {
		q.MaxEntries = r.options.MaxEntries - r.read
	}
	if r.options.Heartbeat > 0 {
		q.HeartbeatInterval = durationpb.New(r.options.Heartbeat)
	}
	return q
}

// take makes a batch of a frame; tells says whether it is one for the user.
func (r *Reader) take(frame *tidemarkv1.ReadResponse) (b Batch, tells bool, err error) {
	switch f := frame.GetFrame().(type) {
	case *tidemarkv1.ReadResponse_Entries:
		if b, err = entriesOf(f.Entries); err != nil {
			return b, false, err
		}
		r.read += uint64(len(b.Entries))
	case *tidemarkv1.ReadResponse_Heartbeat:
		b = Batch{Next: positionOf(f.Heartbeat.GetNext()), AtHead: true, Head: positionOf(f.Heartbeat.GetLastConfirmed())}
	case *tidemarkv1.ReadResponse_Gone:
		b = Batch{Next: positionOf(f.Gone.GetNext()), Gone: true}
	case *tidemarkv1.ReadResponse_End:
		r.next, r.begun = positionOf(f.End.GetResume()), true
		return b, false, nil
	default:
		return b, false, nil // of a newer server
	}
	r.next, r.begun = b.Next, true
	return b, true, nil
}
