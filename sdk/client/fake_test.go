package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server that does what its script says. What it stores survives its
// end.
type fake struct {
	t        testing.TB
	maxFrame int // the largest message that it takes, 0: any

	mu       sync.Mutex // guards all below
	listener *bufconn.Listener
	server   *grpc.Server
	health   *health.Server
	dials    int
	streams  int // produce streams

	stored []stored          // of one topic
	last   map[string]uint64 // by producer
	opens  int
	frames []int // batches by frame

	// onOpen refuses a session, onBatch a batch.
	onOpen  func(o *tidemarkv1.ProduceOpen) error
	onBatch func(b *tidemarkv1.ProduceBatch) error
	// beforeStore and beforeAnswer end the stream with an error.
	beforeStore, beforeAnswer func(frame *tidemarkv1.ProduceRequest) error
	// read and consume serve the n-th stream of their kind, from 1.
	read            func(n int, r *tidemarkv1.ReadRequest, s readSender) error
	consume         func(n int, s consumeServer) error
	reads, consumes int
}

type (
	readSender    = grpc.ServerStreamingServer[tidemarkv1.ReadResponse]
	consumeServer = grpc.BidiStreamingServer[tidemarkv1.ConsumeRequest, tidemarkv1.ConsumeResponse]
)

// stored is one message.
type stored struct {
	producer string
	sequence uint64
	payload  string
}

func newFake(t testing.TB) *fake { return &fake{t: t, last: map[string]uint64{}} }

// startFake returns a fake that serves until the test ends.
func startFake(t testing.TB, change ...func(*fake)) *fake {
	f := newFake(t)
	for _, c := range change {
		c(f)
	}
	f.start()
	return f
}

func (f *fake) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listener = bufconn.Listen(256 << 10)
	var options []grpc.ServerOption
	if f.maxFrame > 0 {
		options = append(options, grpc.MaxRecvMsgSize(f.maxFrame))
	} else {
		options = append(options, grpc.MaxRecvMsgSize(math.MaxInt32))
	}
	options = append(options, grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: wire.MinClientPing, PermitWithoutStream: true}))
	options = append(options, grpc.StreamInterceptor(func(service any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return wire.Status(handler(service, s), nil).Err()
	}))
	f.server = grpc.NewServer(options...)
	f.health = health.NewServer()
	healthpb.RegisterHealthServer(f.server, f.health)
	tidemarkv1.RegisterProduceServiceServer(f.server, &fakeProduce{fake: f})
	tidemarkv1.RegisterReadServiceServer(f.server, &fakeRead{fake: f})
	server, listener := f.server, f.listener
	go func() { _ = server.Serve(listener) }() // ends with stop
}

// stop ends the server and all connections.
func (f *fake) stop() {
	f.mu.Lock()
	server := f.server
	f.server, f.listener = nil, nil
	f.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

// restart is what a kill and a new start look like from outside.
func (f *fake) restart() {
	f.stop()
	f.start()
}

// dial returns a client. The test ends it, and the server.
func (f *fake) dial(o Options) *Client {
	f.t.Helper()
	o.Dialer = f.connect
	c, err := Dial(context.Background(), "fake", o)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *fake) connect(ctx context.Context, _ string) (net.Conn, error) {
	f.mu.Lock()
	f.dials++
	listener := f.listener
	f.mu.Unlock()
	if listener == nil {
		return nil, errors.New("connection refused")
	}
	return listener.DialContext(ctx)
}

// close ends a client and the server at the end of a test.
func (f *fake) close(c *Client) {
	f.t.Helper()
	if err := c.Close(context.Background()); err != nil {
		f.t.Error(err)
	}
	f.stop()
}

// set changes the script.
func (f *fake) set(change func(*fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// all returns the payloads that are stored.
func (f *fake) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var payloads []string
	for _, s := range f.stored {
		payloads = append(payloads, s.payload)
	}
	return payloads
}

// fakeProduce takes messages.
type fakeProduce struct {
	tidemarkv1.UnimplementedProduceServiceServer
	fake *fake
}

func (p *fakeProduce) Produce(stream grpc.BidiStreamingServer[tidemarkv1.ProduceRequest, tidemarkv1.ProduceResponse]) error {
	f := p.fake
	f.mu.Lock()
	f.streams++
	f.mu.Unlock()
	names := map[uint32]string{}
	for {
		frame, err := stream.Recv()
		if err != nil {
			return nil
		}
		answer, err := f.take(names, frame)
		if err != nil {
			return err
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// take does what a frame asks for.
func (f *fake) take(names map[uint32]string, frame *tidemarkv1.ProduceRequest) (*tidemarkv1.ProduceResponse, error) {
	f.mu.Lock()
	before, after := f.beforeStore, f.beforeAnswer
	f.mu.Unlock()
	if before != nil {
		if err := before(frame); err != nil {
			return nil, err
		}
	}
	answer := &tidemarkv1.ProduceResponse{}
	f.mu.Lock()
	for _, o := range frame.GetOpens() {
		f.open(names, o, answer)
	}
	if n := len(frame.GetBatches()); n > 0 {
		f.frames = append(f.frames, n)
	}
	for _, b := range frame.GetBatches() {
		f.batch(names, b, answer)
	}
	f.mu.Unlock()
	if after != nil {
		if err := after(frame); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func (f *fake) open(names map[uint32]string, o *tidemarkv1.ProduceOpen, answer *tidemarkv1.ProduceResponse) {
	f.opens++
	if f.onOpen != nil {
		if err := f.onOpen(o); err != nil {
			answer.Failures = append(answer.Failures, &tidemarkv1.ProduceFailure{Session: o.GetSession(), Error: wire.Failure(err)})
			return
		}
	}
	names[o.GetSession()] = o.GetProducer()
	opened := &tidemarkv1.ProduceOpened{Session: o.GetSession(), MaxEntryBytes: 1 << 20, MaxFrameBytes: uint64(f.maxFrame)}
	if f.maxFrame > 0 {
		opened.MaxEntryBytes = uint64(f.maxFrame - wire.FrameSlack)
	}
	if last, known := f.last[o.GetProducer()]; known && o.GetProducer() != "" {
		opened.LastSequence = &last
	}
	answer.Opened = append(answer.Opened, opened)
}

func (f *fake) batch(names map[uint32]string, b *tidemarkv1.ProduceBatch, answer *tidemarkv1.ProduceResponse) {
	name, open := names[b.GetSession()]
	if !open {
		f.t.Errorf("a batch of session %d, which is not open", b.GetSession())
		return
	}
	ack := acknowledgement(answer, b.GetSession())
	ack.UpToSequence = b.GetFirstSequence() + uint64(b.GetCount()) - 1
	if f.onBatch != nil {
		if err := f.onBatch(b); err != nil {
			answer.Failures = append(answer.Failures, &tidemarkv1.ProduceFailure{
				Session: b.GetSession(), FirstSequence: b.GetFirstSequence(), Count: b.GetCount(), Error: wire.Failure(err),
			})
			return
		}
	}
	sequence := b.GetFirstSequence()
	for entry, err := range message.Unpack(b.GetMessages()) {
		m, decodeErr := message.Decode(entry)
		if err := errors.Join(err, decodeErr); err != nil {
			f.t.Errorf("a batch: %v", err)
			return
		}
		if name == "" || sequence > f.last[name] {
			ack.Stored = append(ack.Stored, &tidemarkv1.StoredRun{FirstSequence: sequence, Count: 1, Ledger: 1, FirstEntry: int64(len(f.stored))})
			f.stored = append(f.stored, stored{name, sequence, string(m.Payload)})
			if name != "" {
				f.last[name] = sequence
			}
		}
		sequence++
	}
	if sequence != b.GetFirstSequence()+uint64(b.GetCount()) {
		f.t.Errorf("a batch of %d messages says %d", sequence-b.GetFirstSequence(), b.GetCount())
	}
}

// acknowledgement returns the one of a session in a frame.
func acknowledgement(answer *tidemarkv1.ProduceResponse, session uint32) *tidemarkv1.ProduceAcknowledgement {
	for _, a := range answer.GetAcknowledgements() {
		if a.GetSession() == session {
			return a
		}
	}
	ack := &tidemarkv1.ProduceAcknowledgement{Session: session}
	answer.Acknowledgements = append(answer.Acknowledgements, ack)
	return ack
}

// fakeRead hands out what its script says.
type fakeRead struct {
	tidemarkv1.UnimplementedReadServiceServer
	fake *fake
}

func (r *fakeRead) Read(request *tidemarkv1.ReadRequest, s readSender) error {
	r.fake.mu.Lock()
	r.fake.reads++
	n, serve := r.fake.reads, r.fake.read
	r.fake.mu.Unlock()
	return serve(n, request, s)
}

func (r *fakeRead) Consume(s consumeServer) error {
	r.fake.mu.Lock()
	r.fake.consumes++
	n, serve := r.fake.consumes, r.fake.consume
	r.fake.mu.Unlock()
	return serve(n, s)
}

// ctx is for calls that must end by themselves.
func ctx() context.Context { return context.Background() }

// text makes a message.
func text(format string, args ...any) message.Message {
	return message.Message{Payload: fmt.Appendf(nil, format, args...)}
}

// producer opens a producer.
func (f *fake) producer(c *Client, o ProducerOptions) *Producer {
	f.t.Helper()
	p, err := c.Producer(ctx(), "demo", o)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// outcomes are the answers to messages, in order.
type outcomes struct {
	mu       sync.Mutex // guards all below
	receipts []Receipt
	errs     []error
}

func (o *outcomes) note(r Receipt, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.receipts, o.errs = append(o.receipts, r), append(o.errs, err)
}

// count returns how many were stored now, had been before, and failed.
func (o *outcomes) count() (stored, duplicates, failed int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, r := range o.receipts {
		switch {
		case o.errs[i] != nil:
			failed++
		case r.Duplicate:
			duplicates++
		default:
			stored++
		}
	}
	return stored, duplicates, failed
}

// send sends n numbered messages without waiting. They are large enough for many
// frames.
func send(t testing.TB, p *Producer, from, n int) *outcomes {
	t.Helper()
	o := &outcomes{}
	for i := range n {
		m := text("%d", from+i)
		m.Key = make([]byte, 1000)
		if err := p.SendAsync(ctx(), m, o.note); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// wantNumbered checks that payloads are the numbers from 0 to n-1.
func wantNumbered(t testing.TB, payloads []string, n int) {
	t.Helper()
	if len(payloads) != n {
		t.Errorf("%d messages, want %d", len(payloads), n)
	}
	for i, p := range payloads {
		if p != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, p)
		}
	}
}

// errCut is how a fake breaks a stream.
var errCut = fmt.Errorf("cut: %w", sdk.ErrUnavailable)

// long is longer than any pause between two tries.
const long = 10 * time.Second
