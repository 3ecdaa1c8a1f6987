package client

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/tidemark-engine/tidemark/sdk"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// CursorOptions are how a cursor is opened and read. The zero value makes a
// durable cursor at the earliest entry, if there is none of that name.
type CursorOptions struct {
	// From is where a new cursor begins. Without effect on one that is there.
	From Start
	// Ephemeral makes a new cursor that lives only as long as it is open.
	Ephemeral bool
	// MustExist refuses to make a cursor.
	MustExist bool
	// WindowEntries and WindowBytes bound what the server sends before it was
	// ranged over; 0 means 10,000 and 4 MiB.
	WindowEntries int
	WindowBytes   int
	// FrameBytes bounds a batch; 0 leaves it to the server. A single entry may
	// exceed it.
	FrameBytes int
	// Heartbeat is how often to hear that nothing was published; 0 leaves it to
	// the server. At least a second.
	Heartbeat time.Duration
}

// Cursor is a position in a topic that the server remembers by name. What was
// not acknowledged when it is closed, or when its process ends, comes again
// when it is opened. Opening it elsewhere ends this one, with
// [reason.ErrReadInFlight].
//
// One goroutine at a time ranges over it; the other methods may be called from
// any goroutine at the same time.
type Cursor struct {
	client  *Client
	topic   string
	name    string
	options CursorOptions
	life    context.Context
	endLife context.CancelFunc
	ended   chan struct{} // closed when the cursor's goroutine has ended

	mu sync.Mutex // guards all below
	// ready is closed when the cursor was opened for the first time, or never
	// will be.
	ready   chan struct{}
	isReady bool
	broken  error // why it is of no use any more
	over    bool  // the topic was terminated, and read to its end

	queue []Batch // received and not ranged over
	// last is the last entry that came, if any did since the last seek.
	last    sdk.Position
	hasLast bool
	// again says that the stream is a new one: what it sends up to last came
	// before and is dropped.
	again   bool
	next    sdk.Position // where an ephemeral cursor goes on
	hasNext bool
	seeks   int     // how many were answered
	granted permits // to send

	requests []*cursorRequest // not answered, in order
	unsent   int              // how many of them, the last ones, were not sent
	lastID   uint64

	news chan struct{} // has a token when the queue or broken may have changed
	wake chan struct{} // has a token when there may be something to send
}

// permits are what to give to the server.
type permits struct {
	entries uint64
	bytes   uint64
}

// cursorRequest is an acknowledgement or a seek.
type cursorRequest struct {
	id    uint64
	frame *tidemarkv1.ConsumeRequest
	seek  bool
	ended chan error // gets the answer; has room for it
}

// Cursor opens a cursor of a topic and returns when the server has.
// [reason.ErrTopicNotFound], [reason.ErrCursorNotFound], [reason.ErrInvalidName].
func (c *Client) Cursor(ctx context.Context, topic, name string, o CursorOptions) (*Cursor, error) {
	if o.WindowEntries < 0 || o.WindowBytes < 0 || o.FrameBytes < 0 || o.Heartbeat < 0 {
		return nil, fmt.Errorf("client: cursor: %w: a negative limit", sdk.ErrInvalid)
	}
	if o.WindowEntries == 0 {
		o.WindowEntries = 10_000
	}
	if o.WindowBytes == 0 {
		o.WindowBytes = 4 << 20
	}
	if err := checkNames(topic, name, o.From.start.GetCursor()); err != nil {
		return nil, err
	}
	u := &Cursor{
		client: c, topic: topic, name: name, options: o, ended: make(chan struct{}),
		ready: make(chan struct{}), news: make(chan struct{}, 1), wake: make(chan struct{}, 1),
	}
	u.life, u.endLife = context.WithCancel(c.life)
	if !c.start(u.run) { // ends with the cursor's life, or when the cursor is of no use
		return nil, errClosed
	}
	select {
	case <-u.ready:
	case <-ctx.Done():
		u.endLife()
		return nil, u.fail(ctx.Err())
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.broken != nil {
		return nil, u.broken
	}
	return u, nil
}

// Name returns the cursor's name.
func (u *Cursor) Name() string { return u.name }

// Batches yields batches as they come, as [Reader.Batches] does for a reader
// that follows. It acknowledges nothing. An error is yielded once and last.
// Leaving the loop loses nothing: ranging again goes on behind the last batch.
func (u *Cursor) Batches(ctx context.Context) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for {
			b, _, over, err := u.take(ctx)
			if err != nil {
				yield(Batch{}, u.fail(err))
				return
			}
			if over || !yield(b, nil) {
				return
			}
		}
	}
}

// Entries is Batches entry by entry, without what has no entries. Leaving the
// loop in the middle of a batch loses nothing, and what follows a seek in the
// middle of a batch is from the new place.
func (u *Cursor) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			b, seeks, over, err := u.take(ctx)
			if err != nil {
				yield(Entry{}, u.fail(err))
				return
			}
			if over {
				return
			}
			for i, e := range b.Entries {
				if !u.stands(seeks) {
					break
				}
				if !yield(e, nil) {
					b.Entries = b.Entries[i+1:]
					u.putBack(b, seeks)
					return
				}
			}
		}
	}
}

// stands says whether no seek was answered since there were so many.
func (u *Cursor) stands(seeks int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seeks == seeks
}

// putBack puts what is left of a batch before the queue, unless a seek was
// answered meanwhile. Its permits stay with the server.
func (u *Cursor) putBack(b Batch, seeks int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seeks == seeks && len(b.Entries) > 0 {
		b.size = 0
		u.queue = slices.Insert(u.queue, 0, b)
	}
}

// take takes the next batch from the queue, and lets the server send as much
// more. seeks is how many seeks were answered before.
func (u *Cursor) take(ctx context.Context) (b Batch, seeks int, over bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return Batch{}, 0, false, err
		}
		u.mu.Lock()
		if len(u.queue) > 0 {
			b, seeks = u.queue[0], u.seeks
			u.queue[0] = Batch{}
			u.queue = u.queue[1:]
			u.grant(b)
			u.mu.Unlock()
			return b, seeks, false, nil
		}
		over, err = u.over, u.broken
		u.mu.Unlock()
		if over || err != nil {
			return Batch{}, 0, over, err
		}
		select {
		case <-u.news:
		case <-ctx.Done():
		}
	}
}

// grant gives back the permits that a batch used. Callers hold the lock.
func (u *Cursor) grant(b Batch) {
	u.granted.entries += uint64(b.count)
	u.granted.bytes += uint64(b.size)
	if int(u.granted.bytes) >= u.options.WindowBytes/4 || int(u.granted.entries) >= u.options.WindowEntries/4 || len(u.queue) == 0 {
		notify(u.wake)
	}
}

// acknowledgedAtOnce is how many single entries one request holds.
const acknowledgedAtOnce = 10_000

// Acknowledge says that single entries are done with. It returns when that is
// durable. [reason.ErrPositionInvalid].
func (u *Cursor) Acknowledge(ctx context.Context, positions ...sdk.Position) error {
	for some := range slices.Chunk(positions, acknowledgedAtOnce) {
		err := u.request(ctx, false, func(id uint64) *tidemarkv1.ConsumeRequest {
			return &tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Acknowledge{
				Acknowledge: &tidemarkv1.Acknowledge{Id: id, Positions: positionsOn(some)},
			}}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AcknowledgeUpTo says that all entries up to p are done with. It returns when
// that is durable. [reason.ErrPositionInvalid].
func (u *Cursor) AcknowledgeUpTo(ctx context.Context, p sdk.Position) error {
	return u.request(ctx, false, func(id uint64) *tidemarkv1.ConsumeRequest {
		return &tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Acknowledge{
			Acknowledge: &tidemarkv1.Acknowledge{Id: id, UpTo: positionOn(p)},
		}}
	})
}

// Seek moves the cursor. Batches that are ranged over after it returns are from
// the new place.
func (u *Cursor) Seek(ctx context.Context, to Start) error {
	return u.request(ctx, true, func(id uint64) *tidemarkv1.ConsumeRequest {
		return &tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Seek{
			Seek: &tidemarkv1.ConsumeSeek{Id: id, Start: to.start},
		}}
	})
}

// request sends a request, again on a new stream if need be, and waits for the
// answer.
func (u *Cursor) request(ctx context.Context, seek bool, frame func(id uint64) *tidemarkv1.ConsumeRequest) error {
	u.mu.Lock()
	if u.broken != nil {
		u.mu.Unlock()
		return u.fail(u.broken)
	}
	u.lastID++
	r := &cursorRequest{id: u.lastID, frame: frame(u.lastID), seek: seek, ended: make(chan error, 1)}
	u.requests = append(u.requests, r)
	u.unsent++
	u.mu.Unlock()
	notify(u.wake)
	select {
	case err := <-r.ended:
		return u.fail(err)
	case <-ctx.Done():
		return u.fail(ctx.Err())
	}
}

// Close gives the cursor up. What was not acknowledged comes again when it is
// opened.
func (u *Cursor) Close(ctx context.Context) error {
	u.endLife()
	select {
	case <-u.ended:
		return nil
	case <-ctx.Done():
		return u.fail(ctx.Err())
	}
}

// fail says which cursor an error is about.
func (u *Cursor) fail(err error) error {
	if err == nil {
		return nil
	}
	return about(u.topic, fmt.Sprintf("cursor %q", u.name), err)
}
