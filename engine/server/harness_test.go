package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/server"
	"github.com/tidemark-engine/tidemark/plugins/memory"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// house is a store, an engine over it and a server over that, which can be
// restarted.
type house struct {
	t       testing.TB
	stores  engine.Settings
	config  engine.Config
	options server.Options
	engine  *engine.Engine
	server  *server.Server
	address string // of gRPC; stays the same over a restart
	web     string // http://HOST:PORT
	serving chan error
}

// open opens a house over a memory store.
func open(t testing.TB, change ...func(*house)) *house {
	t.Helper()
	s := memory.Open()
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return openOver(t, engine.Settings{Ledgers: s, Metadata: s.Metadata(), Plugin: s}, change...)
}

// openPebble opens a house over a pebble store in a new directory.
func openPebble(t testing.TB, change ...func(*house)) *house {
	t.Helper()
	s, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return openOver(t, engine.Settings{Ledgers: s, Metadata: s.Metadata(), Plugin: s}, change...)
}

func openOver(t testing.TB, stores engine.Settings, change ...func(*house)) *house {
	h := &house{t: t, stores: stores, config: engine.DefaultConfig(), options: server.DefaultOptions(), address: "127.0.0.1:0"}
	for _, c := range change {
		c(h)
	}
	h.start()
	t.Cleanup(func() {
		if h.server != nil {
			h.stop()
		}
	})
	return h
}

// start opens engine and server.
func (h *house) start() {
	h.t.Helper()
	var err error
	if h.engine, err = engine.Open(context.Background(), h.stores, h.config); err != nil {
		h.t.Fatal(err)
	}
	if h.server, err = server.New(h.engine, h.options); err != nil {
		h.t.Fatal(err)
	}
	rpc, err := net.Listen("tcp", h.address)
	if err != nil {
		h.t.Fatal(err)
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	h.address, h.web = rpc.Addr().String(), "http://"+web.Addr().String()
	h.serving = make(chan error, 2)
	go func() { h.serving <- h.server.ServeGRPC(rpc) }()
	go func() { h.serving <- h.server.ServeHTTP(web) }()
}

// stop closes server and engine, and fails the test if that is not clean.
func (h *house) stop() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(h.server.Close(ctx), h.engine.Close(ctx), <-h.serving, <-h.serving); err != nil {
		h.t.Errorf("close: %v", err)
	}
	h.server, h.engine = nil, nil
}

// cut ends the server without giving anybody time.
func (h *house) cut() {
	h.t.Helper()
	ended, end := context.WithCancel(context.Background())
	end()
	_ = h.server.Close(ended)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = h.server.Close(ctx)
	if err := errors.Join(h.engine.Close(ctx), <-h.serving, <-h.serving); err != nil {
		h.t.Errorf("close: %v", err)
	}
	h.server, h.engine = nil, nil
}

// dial returns a client, and topics that it has made.
func (h *house) dial(topics ...string) *client.Client { return h.dialWith(client.Options{}, topics...) }

func (h *house) dialWith(o client.Options, topics ...string) *client.Client {
	h.t.Helper()
	c, err := client.Dial(h.ctx(), h.address, o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			h.t.Error(err)
		}
	})
	for _, topic := range topics {
		if err := c.CreateTopic(h.ctx(), topic, nil); err != nil {
			h.t.Fatal(err)
		}
	}
	return c
}

// fixedWindow keeps a client from taking in more than 64 KiB of a stream that it
// does not read.
var fixedWindow = grpc.WithStaticStreamWindowSize(64 << 10)

// conn returns a plain connection.
func (h *house) conn(more ...grpc.DialOption) *grpc.ClientConn {
	h.t.Helper()
	conn, err := grpc.NewClient(h.address, append(more, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ctx returns a context that ends when a test has waited long enough.
func (h *house) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	h.t.Cleanup(cancel)
	return ctx
}

// producer opens a producer.
func (h *house) producer(c *client.Client, topic string, o client.ProducerOptions) *client.Producer {
	h.t.Helper()
	p, err := c.Producer(h.ctx(), topic, o)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// text makes a message.
func text(format string, args ...any) message.Message {
	return message.Message{Payload: fmt.Appendf(nil, format, args...)}
}

// sendAll sends n numbered messages and waits for all; it returns their places.
func (h *house) sendAll(p *client.Producer, from, n int) []sdk.Position {
	h.t.Helper()
	places := make([]sdk.Position, n)
	failed := make(chan error, n)
	for i := range n {
		err := p.SendAsync(h.ctx(), text("message %d", from+i), func(r client.Receipt, err error) {
			places[i] = r.Position
			if err != nil {
				failed <- err
			}
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	if err := p.Flush(h.ctx()); err != nil {
		h.t.Fatal(err)
	}
	close(failed)
	for err := range failed {
		h.t.Fatal(err)
	}
	return places
}

// readAll reads a topic to its tail.
func (h *house) readAll(c *client.Client, topic string) []client.Entry {
	h.t.Helper()
	var all []client.Entry
	for e, err := range c.Reader(topic, client.ReadOptions{}).Entries(h.ctx()) {
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// wantNumbered checks that entries are the messages from..from+n-1, in order
// and at rising positions.
func wantNumbered(t testing.TB, entries []client.Entry, from, n int) {
	t.Helper()
	if len(entries) != n {
		t.Errorf("%d entries, want %d", len(entries), n)
	}
	for i, e := range entries {
		if want := fmt.Sprintf("message %d", from+i); string(e.Payload) != want {
			t.Fatalf("entry %d at %v is %q, want %q", i, e.Position, e.Payload, want)
		}
		if i > 0 && !e.Position.After(entries[i-1].Position) {
			t.Fatalf("%v comes behind %v", e.Position, entries[i-1].Position)
		}
	}
}
