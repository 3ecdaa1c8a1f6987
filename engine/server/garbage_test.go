package server

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/reason"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

// script is a stream whose client sends what is in it and then no more.
type script[In, Out any] struct {
	grpc.ServerStream
	ctx  context.Context
	in   []*In
	out  []*Out
	last error // instead of io.EOF
}

func (s *script[In, Out]) Context() context.Context { return s.ctx }

func (s *script[In, Out]) Recv() (*In, error) {
	if len(s.in) == 0 {
		if s.last != nil {
			return nil, s.last
		}
		return nil, io.EOF
	}
	next := s.in[0]
	s.in = s.in[1:]
	return next, nil
}

func (s *script[In, Out]) RecvMsg(into any) error {
	next, err := s.Recv()
	if err == nil {
		proto.Merge(into.(proto.Message), any(next).(proto.Message))
	}
	return err
}

func (s *script[In, Out]) Send(m *Out) error {
	s.out = append(s.out, m)
	return nil
}

// RecvMsg of gRPC replaces what was in the message.
type produceScript struct {
	script[tidemarkv1.ProduceRequest, tidemarkv1.ProduceResponse]
}

func (s *produceScript) RecvMsg(into any) error {
	proto.Reset(into.(proto.Message))
	return s.script.RecvMsg(into)
}

type consumeScript struct {
	script[tidemarkv1.ConsumeRequest, tidemarkv1.ConsumeResponse]
}

// bare opens an engine with the topic demo and a server without listeners.
func bare(t testing.TB, change ...func(*engine.Config)) *Server {
	t.Helper()
	store := memory.Open()
	config := engine.DefaultConfig()
	for _, c := range change {
		c(&config)
	}
	e, err := engine.Open(context.Background(), engine.Settings{Ledgers: store, Metadata: store.Metadata(), Plugin: store}, config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(e, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateTopic(context.Background(), "demo", engine.TopicOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(s.Close(ctx), e.Close(ctx), store.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return s
}

// produce runs a produce stream to its end.
func (s *Server) produce(frames ...*tidemarkv1.ProduceRequest) ([]*tidemarkv1.ProduceResponse, error) {
	stream := &produceScript{}
	stream.ctx, stream.in = context.Background(), frames
	err := (&produceService{server: s}).Produce(stream)
	return stream.out, err
}

// packed packs payloads as messages.
func packed(payloads ...string) []byte {
	var all []byte
	for _, p := range payloads {
		m := message.Message{Payload: []byte(p)}
		all = m.AppendPackedTo(all)
	}
	return all
}

func opening(session uint32, producer string) *tidemarkv1.ProduceOpen {
	return &tidemarkv1.ProduceOpen{Session: session, Topic: "demo", Producer: producer}
}

// told collects what a stream said of one session.
func told(answers []*tidemarkv1.ProduceResponse, session uint32) (upTo uint64, stored int, failures []*tidemarkv1.ProduceFailure) {
	for _, a := range answers {
		for _, ack := range a.GetAcknowledgements() {
			if ack.GetSession() == session {
				upTo = ack.GetUpToSequence()
				for _, run := range ack.GetStored() {
					stored += int(run.GetCount())
				}
			}
		}
		for _, f := range a.GetFailures() {
			if f.GetSession() == session {
				failures = append(failures, f)
			}
		}
	}
	return upTo, stored, failures
}

// Faulty batches fail by themselves; others on the stream go on.
func TestFaultyBatches(t *testing.T) {
	s := bare(t)
	for name, c := range map[string]struct {
		batch *tidemarkv1.ProduceBatch
		want  error
	}{
		"no messages":              {&tidemarkv1.ProduceBatch{}, sdk.ErrInvalid},
		"count too low":            {&tidemarkv1.ProduceBatch{Count: 1, Messages: packed("a", "b")}, sdk.ErrInvalid},
		"count too high":           {&tidemarkv1.ProduceBatch{Count: 1 << 31, Messages: packed("a")}, sdk.ErrInvalid},
		"length beyond the end":    {&tidemarkv1.ProduceBatch{Count: 1, Messages: []byte{200, 1, 1}}, sdk.ErrInvalid},
		"endless length":           {&tidemarkv1.ProduceBatch{Count: 1, Messages: []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1}}, sdk.ErrInvalid},
		"no message":               {&tidemarkv1.ProduceBatch{Count: 1, Messages: []byte{2, 10, 200}}, sdk.ErrInvalid},
		"sequence falls":           {&tidemarkv1.ProduceBatch{Count: 1, FirstSequence: 3, Messages: packed("a")}, reason.ErrProducerSequence},
		"sequence without an end":  {&tidemarkv1.ProduceBatch{Count: 2, FirstSequence: 1<<64 - 1, Messages: packed("a", "b")}, sdk.ErrInvalid},
		"larger than the topic's":  {&tidemarkv1.ProduceBatch{Count: 1, Messages: packed(string(make([]byte, 6<<20)))}, sdk.ErrTooLarge},
		"larger than the server's": {&tidemarkv1.ProduceBatch{Count: 1, Messages: packed(string(make([]byte, 16<<20)))}, sdk.ErrTooLarge},
	} {
		for _, producer := range []string{"", "named-" + name[:2]} {
			t.Run(name+"/"+producer, func(t *testing.T) {
				c.batch.Session = 7
				if c.batch.FirstSequence == 0 {
					c.batch.FirstSequence = 50
				}
				good := &tidemarkv1.ProduceBatch{Session: 7, FirstSequence: 10, Count: 2, Messages: packed("one", "two")}
				other := &tidemarkv1.ProduceBatch{Session: 8, FirstSequence: 1, Count: 1, Messages: packed("three")}
				answers, err := s.produce(
					&tidemarkv1.ProduceRequest{Opens: []*tidemarkv1.ProduceOpen{opening(7, producer), opening(8, "")}, Batches: []*tidemarkv1.ProduceBatch{good}},
					&tidemarkv1.ProduceRequest{Batches: []*tidemarkv1.ProduceBatch{c.batch, other}},
				)
				if err != nil {
					t.Fatal(err)
				}
				_, stored, failures := told(answers, 7)
				if stored > 2 || len(failures) != 1 || !errors.Is(wire.FailureError(failures[0].GetError()), c.want) {
					t.Errorf("stored %d; %v", stored, failures)
				}
				if upTo, stored, failures := told(answers, 8); upTo != 1 || stored != 1 || len(failures) > 0 {
					t.Errorf("the other session: %d, %d, %v", upTo, stored, failures)
				}
			})
		}
	}
}

func TestFaultySessions(t *testing.T) {
	s := bare(t)
	batch := &tidemarkv1.ProduceBatch{Session: 1, FirstSequence: 1, Count: 1, Messages: packed("x")}
	for name, c := range map[string]struct {
		frame *tidemarkv1.ProduceRequest
		want  error
	}{
		"not open":       {&tidemarkv1.ProduceRequest{Batches: []*tidemarkv1.ProduceBatch{batch}}, sdk.ErrInvalid},
		"open twice":     {&tidemarkv1.ProduceRequest{Opens: []*tidemarkv1.ProduceOpen{opening(1, ""), opening(1, "")}}, sdk.ErrInvalid},
		"no such topic":  {&tidemarkv1.ProduceRequest{Opens: []*tidemarkv1.ProduceOpen{{Session: 1, Topic: "none"}}, Batches: []*tidemarkv1.ProduceBatch{batch}}, reason.ErrTopicNotFound},
		"no topic":       {&tidemarkv1.ProduceRequest{Opens: []*tidemarkv1.ProduceOpen{{Session: 1}}, Batches: []*tidemarkv1.ProduceBatch{batch}}, reason.ErrInvalidName},
		"a bad producer": {&tidemarkv1.ProduceRequest{Opens: []*tidemarkv1.ProduceOpen{opening(1, "a b")}}, reason.ErrInvalidName},
	} {
		t.Run(name, func(t *testing.T) {
			answers, err := s.produce(c.frame)
			if err != nil {
				t.Fatal(err)
			}
			_, _, failures := told(answers, 1)
			if len(failures) == 0 || failures[0].GetCount() != 0 || !errors.Is(wire.FailureError(failures[0].GetError()), c.want) {
				t.Errorf("%v", failures)
			}
		})
	}
	if answers, err := s.produce(&tidemarkv1.ProduceRequest{Closes: []uint32{9}}, &tidemarkv1.ProduceRequest{}); err != nil || len(answers) > 0 {
		t.Errorf("closing what is not open, and nothing: %v, %v", answers, err)
	}
}

// Every batch of a stream that a client ends is answered, whatever is in it.
func FuzzProduceStream(f *testing.F) {
	s := bare(f)
	seed := func(r *tidemarkv1.ProduceRequest) {
		bytes, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes, []byte{})
		f.Add(bytes, bytes)
	}
	seed(&tidemarkv1.ProduceRequest{
		Opens:   []*tidemarkv1.ProduceOpen{opening(1, ""), opening(2, "p")},
		Batches: []*tidemarkv1.ProduceBatch{{Session: 1, FirstSequence: 1, Count: 2, Messages: packed("a", "b")}, {Session: 2, FirstSequence: 5, Count: 1, Messages: packed("c")}},
		Closes:  []uint32{1},
	})
	seed(&tidemarkv1.ProduceRequest{Batches: []*tidemarkv1.ProduceBatch{{Session: 3, Count: 1, Messages: []byte{0xff}}}})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var frames []*tidemarkv1.ProduceRequest
		for _, bytes := range [][]byte{first, second} {
			r := new(tidemarkv1.ProduceRequest)
			if proto.Unmarshal(bytes, r) != nil {
				return
			}
			frames = append(frames, r)
		}
		opened := map[uint32]bool{}
		due := map[uint32]int{} // batches of sessions that open well
		for _, r := range frames {
			for _, o := range r.GetOpens() {
				if o.GetTopic() == "demo" && engine.CheckName("producer", "p"+o.GetProducer()) == nil && !opened[o.GetSession()] {
					opened[o.GetSession()] = true
				}
			}
			for _, b := range r.GetBatches() {
				if opened[b.GetSession()] {
					due[b.GetSession()]++
				}
			}
		}
		answers, err := s.produce(frames...)
		if err != nil {
			t.Fatalf("the stream ends with %v", err)
		}
		for session := range due {
			if _, stored, failures := told(answers, session); stored == 0 && len(failures) == 0 && !anyAck(answers, session) {
				t.Errorf("session %d sent batches and heard nothing: %v", session, answers)
			}
		}
	})
}

func anyAck(answers []*tidemarkv1.ProduceResponse, session uint32) bool {
	for _, a := range answers {
		for _, ack := range a.GetAcknowledgements() {
			if ack.GetSession() == session {
				return true
			}
		}
	}
	return false
}

// A consume stream ends without harm, whatever a client sends.
func FuzzConsumeStream(f *testing.F) {
	s := bare(f)
	open := &tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Open{Open: &tidemarkv1.ConsumeOpen{Topic: "demo", Cursor: "c"}}}
	for _, r := range []*tidemarkv1.ConsumeRequest{
		open,
		{Frame: &tidemarkv1.ConsumeRequest_Permits{Permits: &tidemarkv1.Permits{Entries: 1 << 63, Bytes: 1}}},
		{Frame: &tidemarkv1.ConsumeRequest_Acknowledge{Acknowledge: &tidemarkv1.Acknowledge{Id: 1, UpTo: &tidemarkv1.Position{Ledger: -1}}}},
		{Frame: &tidemarkv1.ConsumeRequest_Seek{Seek: &tidemarkv1.ConsumeSeek{Id: 2, Start: &tidemarkv1.Start{Start: &tidemarkv1.Start_After{After: &tidemarkv1.Position{Ledger: 1, Entry: 1 << 62}}}}}},
	} {
		bytes, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes, bytes)
	}
	if _, err := s.produce(&tidemarkv1.ProduceRequest{Opens: []*tidemarkv1.ProduceOpen{opening(1, "")}, Batches: []*tidemarkv1.ProduceBatch{{Session: 1, Count: 3, Messages: packed("a", "b", "c")}}}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		stream := &consumeScript{}
		stream.ctx, stream.in = context.Background(), []*tidemarkv1.ConsumeRequest{open}
		for _, bytes := range [][]byte{first, second} {
			r := new(tidemarkv1.ConsumeRequest)
			if proto.Unmarshal(bytes, r) != nil {
				return
			}
			stream.in = append(stream.in, r)
		}
		_ = (&readService{server: s}).Consume(stream)
		for _, answer := range stream.out {
			if _, err := proto.Marshal(answer); err != nil {
				t.Errorf("%v: %v", answer, err)
			}
		}
	})
}
