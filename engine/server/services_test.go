package server_test

import (
	"io"
	"runtime"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/tidemark-engine/tidemark/engine/server"
	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
	"github.com/tidemark-engine/tidemark/sdk/wire"
)

func TestHealthPerService(t *testing.T) {
	h := open(t)
	health := healthpb.NewHealthClient(h.conn())
	for _, service := range []string{"", "tidemark.v1.TopicService", "tidemark.v1.ProduceService", "tidemark.v1.ReadService", "tidemark.v1.CursorService"} {
		answer, err := health.Check(h.ctx(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, answer, err)
		}
	}
	watch, err := health.Watch(h.ctx(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); h.stop() }()
	if answer, err := watch.Recv(); err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while it closes: %v, %v", answer, err)
	}
	<-stopped
	h.start()
}

// S-071: who watches health or asks for the schema does not hold the server up.
func TestS071ShutdownEndsForeignStreams(t *testing.T) {
	h := open(t)
	conn := h.conn()
	for _, service := range []string{"", "none"} {
		watch, err := healthpb.NewHealthClient(conn).Watch(h.ctx(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := watch.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(h.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Recv(); err != nil {
		t.Fatal(err)
	}
	h.stop() // fails the test if it is not clean
	if _, err := schema.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("%v", err)
	}
	h.start()
}

func TestReflection(t *testing.T) {
	for _, on := range []bool{true, false} {
		h := open(t, func(h *house) { h.options.Reflection = on })
		stream, err := reflectionpb.NewServerReflectionClient(h.conn()).ServerReflectionInfo(h.ctx())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if !on {
			if status.Code(err) != codes.Unimplemented {
				t.Errorf("without reflection: %v, %v", answer, err)
			}
			continue
		}
		var names []string
		for _, service := range answer.GetListServicesResponse().GetService() {
			names = append(names, service.GetName())
		}
		if err != nil || !slices.Contains(names, "tidemark.v1.ProduceService") {
			t.Errorf("%v, %v", names, err)
		}
	}
}

// consumeStream opens a plain stream through a cursor.
func (h *house) consumeStream(open *tidemarkv1.ConsumeOpen) grpc.BidiStreamingClient[tidemarkv1.ConsumeRequest, tidemarkv1.ConsumeResponse] {
	h.t.Helper()
	stream, err := tidemarkv1.NewReadServiceClient(h.conn()).Consume(h.ctx())
	if err != nil {
		h.t.Fatal(err)
	}
	if err := stream.Send(&tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Open{Open: open}}); err != nil {
		h.t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || first.GetOpened() == nil {
		h.t.Fatalf("%v, %v", first, err)
	}
	return stream
}

// Exactly as much is sent as there are permits, counted in entries or in bytes,
// and the last entry may exceed the bytes.
func TestPermits(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	p := h.producer(c, "demo", client.ProducerOptions{Anonymous: true})
	h.sendAll(p, 1000, 1000) // all of one size
	size := 0
	for name, permits := range map[string]*tidemarkv1.Permits{
		"entries": {Entries: 17},
		"bytes":   {Entries: 1 << 40, Bytes: 300},
		"one":     {Entries: 1 << 40, Bytes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			stream := h.consumeStream(&tidemarkv1.ConsumeOpen{Topic: "demo", Cursor: name, Ephemeral: true})
			got := 0
			for round := 1; round <= 30; round++ {
				if err := stream.Send(&tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Permits{Permits: permits}}); err != nil {
					t.Fatal(err)
				}
				allowed := round * int(permits.GetEntries())
				if permits.GetBytes() > 0 && size > 0 {
					allowed = (round*int(permits.GetBytes()) + size - 1) / size
				}
				for got < allowed && (got == 0 || size > 0) {
					frame, err := stream.Recv()
					if err != nil {
						t.Fatal(err)
					}
					for _, run := range frame.GetEntries().GetRuns() {
						got += int(run.GetCount())
						size = len(run.GetEntries())/int(run.GetCount()) - 1 // without the length
					}
					if permits.GetBytes() > 0 && size > 0 {
						allowed = (round*int(permits.GetBytes()) + size - 1) / size
					}
				}
				if got != allowed {
					t.Fatalf("%d entries of %d bytes in round %d, allowed are %d", got, size, round, allowed)
				}
			}
		})
	}
}

// A cursor stream that a client ends is answered to the end; one with a faulty
// request hears why.
func TestConsumeRequests(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	places := h.sendAll(h.producer(c, "demo", client.ProducerOptions{}), 0, 10)
	last := &tidemarkv1.Position{Ledger: int64(places[9].Ledger), Entry: int64(places[9].Entry)}
	stream := h.consumeStream(&tidemarkv1.ConsumeOpen{Topic: "demo", Cursor: "c"})
	for i, a := range []*tidemarkv1.Acknowledge{
		{Id: 1, Positions: []*tidemarkv1.Position{last}},
		{Id: 2},
		{Id: 3, UpTo: &tidemarkv1.Position{Ledger: -1}},
		{Id: 4, UpTo: &tidemarkv1.Position{Ledger: 1 << 40}},
		{Id: 5, UpTo: last},
	} {
		if err := stream.Send(&tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Acknowledge{Acknowledge: a}}); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	failed := map[uint64]bool{}
	upTo := uint64(0)
	for {
		frame, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if a := frame.GetAnswer(); a != nil {
			upTo = a.GetId()
			failed[upTo] = wire.FailureError(a.GetError()) != nil
		}
	}
	if upTo != 5 || failed[1] || !failed[2] || !failed[3] || !failed[4] || failed[5] {
		t.Errorf("answers up to %d, failed %v", upTo, failed)
	}
	if d, err := c.DescribeCursor(h.ctx(), "demo", "c"); err != nil || d.GetBacklog() != 0 {
		t.Errorf("%v, %v", d, err)
	}
	for name, first := range map[string]*tidemarkv1.ConsumeRequest{
		"not an open": {Frame: &tidemarkv1.ConsumeRequest_Permits{Permits: &tidemarkv1.Permits{Entries: 1}}},
		"nothing":     {},
	} {
		stream, err := tidemarkv1.NewReadServiceClient(h.conn()).Consume(h.ctx())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(first); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := h.consumeStream(&tidemarkv1.ConsumeOpen{Topic: "demo", Cursor: "d"})
	if err := again.Send(&tidemarkv1.ConsumeRequest{Frame: &tidemarkv1.ConsumeRequest_Open{Open: &tidemarkv1.ConsumeOpen{}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a second open: %v", err)
	}
}

// A newer stream gets the cursor also from one whose client does not read.
func TestCursorIsTakenFromAStuckStream(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	for range 4 { // each more than a connection buffers
		if _, err := c.Append(h.ctx(), "demo", message.Message{Payload: make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	stuck, err := tidemarkv1.NewReadServiceClient(h.conn(fixedWindow)).Consume(h.ctx())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*tidemarkv1.ConsumeRequest{
		{Frame: &tidemarkv1.ConsumeRequest_Open{Open: &tidemarkv1.ConsumeOpen{Topic: "demo", Cursor: "c"}}},
		{Frame: &tidemarkv1.ConsumeRequest_Permits{Permits: &tidemarkv1.Permits{Entries: 100}}},
	} {
		if err := stuck.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stuck.Recv(); err != nil { // opened; and no more
		t.Fatal(err)
	}
	for server.FramesUnderWay(h.server) == 0 {
		runtime.Gosched()
	}
	h.consumeStream(&tidemarkv1.ConsumeOpen{Topic: "demo", Cursor: "c"})
}
