package server

import (
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tidemark-engine/tidemark/engine/managedledger"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// pack makes a frame of what was read. The bytes of entries are copied as they
// are, nothing is decoded.
func pack(r managedledger.ReadResult) *tidemarkv1.Entries {
	frame := &tidemarkv1.Entries{Next: position(r.Next)}
	for rest := r.Entries; len(rest) > 0; {
		n := sameLedger(rest)
		frame.Runs = append(frame.Runs, packRun(rest[:n]))
		rest = rest[n:]
	}
	return frame
}

// sameLedger returns how many entries at the start are of one ledger.
func sameLedger(entries []managedledger.Entry) int {
	for i := range entries {
		if entries[i].Position.Ledger != entries[0].Position.Ledger {
			return i
		}
	}
	return len(entries)
}

// packRun packs entries of one ledger.
func packRun(entries []managedledger.Entry) *tidemarkv1.EntryRun {
	first := entries[0].Position
	size := 0
	for i := range entries {
		size += message.PackedSize(entries[i].Payload)
	}
	run := &tidemarkv1.EntryRun{
		Ledger: int64(first.Ledger), FirstEntry: int64(first.Entry), Count: uint32(len(entries)),
		Entries: make([]byte, 0, size),
	}
	for i := range entries {
		run.Entries = message.AppendPacked(run.Entries, entries[i].Payload)
	}
	if last := entries[len(entries)-1].Position.Entry; int64(last-first.Entry) != int64(len(entries)-1) {
		run.Offsets = make([]uint32, len(entries))
		for i := range entries {
			run.Offsets[i] = uint32(entries[i].Position.Entry - first.Entry)
		}
	}
	return run
}

// bytesOf is the size of what was read.
func bytesOf(entries []managedledger.Entry) (n int) {
	for i := range entries {
		n += len(entries[i].Payload)
	}
	return n
}

// How large frames are and how they grow.
const (
	firstFrame = 28 << 10 // with what is around the entries a buffer of 32 KiB
	// growAfter is how many bytes must have gone out at one frame size before
	// the next is twice as large. It is more than what a connection buffers for
	// a client that does not read, 64 KiB at each end: such a client never gets
	// a larger frame, so that it costs little memory.
	growAfter = 256 << 10
	// manyFrames is how many bytes of frames may be on their way to readers
	// before all frames are small ones. It is what readers that do not read can
	// hold together, besides a small frame each.
	manyFrames = 64 << 20
)

// pace decides how large the next frame of a stream is.
type pace struct {
	size, max int
	sent      int // bytes since the size grew
	// underWay is the bytes of frames of all streams that are being sent.
	underWay *atomic.Int64
}

// newPace makes a pace for frames of at most wanted bytes, 0 leaves it to the
// server.
func (s *Server) newPace(wanted uint32) pace {
	most := s.options.FrameBytes
	if wanted > 0 {
		most = min(most, int(min(wanted, 1<<30)))
	}
	return pace{size: min(firstFrame, most), max: most, underWay: &s.underWay}
}

// next is how large the next frame is.
func (p *pace) next() int {
	if p.underWay.Load() > manyFrames {
		return min(firstFrame, p.size)
	}
	return p.size
}

// goes notes that a frame of n bytes is being sent, with a call of send.
func (p *pace) goes(n int, send func() error) error {
	p.underWay.Add(int64(n))
	err := send()
	p.underWay.Add(int64(-n))
	if p.sent += n; p.sent >= growAfter && p.size < p.max {
		p.size, p.sent = min(2*p.size, p.max), 0
	}
	return err
}

// minHeartbeat is the shortest interval of heartbeats.
const minHeartbeat = time.Second

// heartbeat returns the interval that a reader asked for.
func (s *Server) heartbeat(wanted *durationpb.Duration) (time.Duration, error) {
	if wanted == nil {
		return s.options.HeartbeatInterval, nil
	}
	if err := wanted.CheckValid(); err != nil {
		return 0, fmt.Errorf("%w: heartbeat interval: %w", sdk.ErrInvalid, err)
	}
	if d := wanted.AsDuration(); d < minHeartbeat {
		return 0, fmt.Errorf("%w: heartbeat interval of %v, it is at least %v", sdk.ErrInvalid, d, minHeartbeat)
	}
	return wanted.AsDuration(), nil
}
