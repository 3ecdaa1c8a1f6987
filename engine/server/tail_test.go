package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// readStream opens a plain stream.
func (h *house) readStream(conn *grpc.ClientConn, r *tidemarkv1.ReadRequest) grpc.ServerStreamingClient[tidemarkv1.ReadResponse] {
	h.t.Helper()
	stream, err := tidemarkv1.NewReadServiceClient(conn).Read(h.ctx(), r)
	if err != nil {
		h.t.Fatal(err)
	}
	return stream
}

func positionOf(p *tidemarkv1.Position) sdk.Position {
	return sdk.Position{Ledger: sdk.LedgerID(p.GetLedger()), Entry: sdk.EntryID(p.GetEntry())}
}

// S-011: a slow reader gets every entry as far as it exists, and is told where
// it goes on when some were removed. Never a silent jump.
func TestS011SlowReaderHearsOfTrimmedEntries(t *testing.T) {
	h := open(t)
	c := h.dial()
	if err := c.CreateTopic(h.ctx(), "demo", map[string]string{
		"max-entries-per-ledger": "100", "retention-size": "0B", "retention-time": "0s",
	}); err != nil {
		t.Fatal(err)
	}
	p := h.producer(c, "demo", client.ProducerOptions{MaxBatchMessages: 50})
	h.sendAll(p, 0, 20)
	const messages = 30_000
	due, gone, trimmed, told := 0, 0, false, sdk.Position{Ledger: -1}
	for b, err := range c.Reader("demo", client.ReadOptions{Follow: true, FrameBytes: 200}).Batches(h.ctx()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Gone {
			gone++
			told = b.Next
		}
		for _, e := range b.Entries {
			var n int
			if _, err := fmt.Sscanf(string(e.Payload), "message %d", &n); err != nil {
				t.Fatal(err)
			}
			if n != due && (n < due || e.Position != told) {
				t.Fatalf("message %d comes at %v when %d is due; it heard of %v", n, e.Position, due, told)
			}
			due = n + 1
		}
		if due > 10 && !trimmed {
			// It stops reading. What the connection buffers ends before what is
			// trimmed now.
			trimmed = true
			h.sendAll(p, 20, messages)
			if _, err := c.TrimTopic(h.ctx(), "demo"); err != nil {
				t.Fatal(err)
			}
			if d, err := c.DescribeTopic(h.ctx(), "demo"); err != nil || d.GetEntries() > 1000 {
				t.Fatalf("%d entries are kept, %v", d.GetEntries(), err)
			}
			h.sendAll(p, 20+messages, 1) // stays, in the open ledger
		}
		if due == 20+messages+1 {
			break
		}
	}
	if gone == 0 {
		t.Error("it did not hear that entries are gone")
	}
}

// S-012: a notice of the head comes behind all entries up to it, and notices
// never go down.
func TestS012NoticesComeBehindTheirEntries(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	h.sendAll(p, 0, 100)
	conn := h.conn()
	stop := make(chan struct{})
	var writing, reading sync.WaitGroup
	writing.Go(func() {
		for i := 100; ; i++ {
			select {
			case <-stop:
				return
			default:
				if _, err := p.Send(h.ctx(), text("message %d", i)); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 50 {
		reading.Go(func() {
			stream := h.readStream(conn, &tidemarkv1.ReadRequest{Topic: "demo", Follow: true, HeartbeatInterval: durationpb.New(time.Second)})
			read, notice := sdk.Position{Ledger: -1}, sdk.Position{Ledger: -1}
			for notices, frames := 0, 0; notices == 0 || frames < 200; frames++ {
				frame, err := stream.Recv()
				if err != nil {
					t.Error(err)
					return
				}
				for _, run := range frame.GetEntries().GetRuns() {
					read = sdk.Position{Ledger: sdk.LedgerID(run.GetLedger()), Entry: sdk.EntryID(run.GetFirstEntry() + int64(run.GetCount()) - 1)}
				}
				if beat := frame.GetHeartbeat(); beat != nil {
					notices++
					head := positionOf(beat.GetLastConfirmed())
					if head.After(read) || head.Before(notice) {
						t.Errorf("notice of %v after %v, when %v was read", head, notice, read)
					}
					notice = head
				}
			}
		})
	}
	reading.Wait()
	close(stop)
	writing.Wait()
}

// S-071: the server stops although streams are open; each reader hears where to
// go on, and every stream ends as unavailable.
func TestS071ShutdownEndsIdleStreams(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	places := h.sendAll(p, 0, 10)
	conn := h.conn()
	const tails = 500
	streams := make([]grpc.ServerStreamingClient[tidemarkv1.ReadResponse], tails)
	for i := range streams {
		streams[i] = h.readStream(conn, &tidemarkv1.ReadRequest{Topic: "demo", Follow: true})
		for beat := false; !beat; { // until it is idle at the tail
			frame, err := streams[i].Recv()
			if err != nil {
				t.Fatal(err)
			}
			beat = frame.GetHeartbeat() != nil
		}
	}
	consume, err := tidemarkv1.NewReadServiceClient(conn).Consume(h.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if err := consume.Send(&tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Open{Open: &tidemarkv1.ConsumeOpen{Topic: "demo", Cursor: "c"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := consume.Recv(); err != nil {
		t.Fatal(err)
	}
	h.stop()
	want := places[9].Next()
	for i, stream := range streams {
		frame, err := stream.Recv()
		if err != nil || frame.GetEnd().GetCause() != tidemarkv1.EndCause_END_CAUSE_SHUTDOWN || positionOf(frame.GetEnd().GetResume()) != want {
			t.Fatalf("stream %d: %v, %v", i, frame, err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
			t.Fatalf("stream %d ends with %v", i, err)
		}
	}
	frame, err := consume.Recv()
	if err != nil || frame.GetEnd().GetCause() != tidemarkv1.EndCause_END_CAUSE_SHUTDOWN {
		t.Errorf("consume: %v, %v", frame, err)
	}
	if _, err := consume.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("consume ends with %v", err)
	}
	h.start()
}

// stuck opens a reader that does not read.
func (h *house) stuck(c *client.Client) {
	h.t.Helper()
	for range 3 { // each more than a connection buffers
		if _, err := c.Append(h.ctx(), "demo", message.Message{Payload: make([]byte, 1<<20)}); err != nil {
			h.t.Fatal(err)
		}
	}
	stream := h.readStream(h.conn(fixedWindow), &tidemarkv1.ReadRequest{Topic: "demo", Follow: true})
	if _, err := stream.Header(); err != nil { // comes with the first frame, which is not received
		h.t.Fatal(err)
	}
}

// S-071: readers that do not read are cut off in time; what was acknowledged is
// not lost by it, so it is no failure.
func TestS071ShutdownDoesNotWaitForStuckReaders(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	h.stuck(c)
	for range 20 { // more than a socket buffers
		if _, err := c.Append(h.ctx(), "demo", message.Message{Payload: make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	web, err := net.Dial("tcp", strings.TrimPrefix(h.web, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = web.Close() }()
	if _, err := io.WriteString(web, "GET /v1/topics/demo/lines?follow=true HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := web.Read(make([]byte, 1)); err != nil { // and no more
		t.Fatal(err)
	}
	h.stop() // fails the test if it is not clean
	h.start()
}

// S-071: when its time is up the server says what it cut off.
func TestS071ShutdownIsBounded(t *testing.T) {
	h := open(t)
	h.stuck(h.dial("demo"))
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if err := h.server.Close(ctx); err == nil {
		t.Error("closing cut nothing off")
	}
	if err := h.engine.Close(h.ctx()); err != nil {
		t.Error(err)
	}
	<-h.serving
	<-h.serving
	h.start()
}

func TestReadEndsAtWhatWasThere(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{})
	stream := h.readStream(h.conn(), &tidemarkv1.ReadRequest{Topic: "demo"})
	frame, err := stream.Recv()
	if err != nil || frame.GetEnd().GetCause() != tidemarkv1.EndCause_END_CAUSE_TAIL {
		t.Errorf("an empty topic: %v, %v", frame, err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("an empty topic ends with %v", err)
	}
	h.sendAll(p, 0, 3)
	stream = h.readStream(h.conn(), &tidemarkv1.ReadRequest{Topic: "demo", MaxEntries: 2})
	for _, want := range []tidemarkv1.EndCause{0, tidemarkv1.EndCause_END_CAUSE_LIMIT} {
		frame, err := stream.Recv()
		if err != nil || frame.GetEnd().GetCause() != want {
			t.Errorf("%v, %v", frame, err)
		}
	}
}
