package server_test

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk"
	"github.com/tidemark-engine/tidemark/sdk/client"
)

// fragile is a network whose connections break anywhere, also in the middle of
// a frame, in either direction.
type fragile struct {
	most int // bytes that a connection carries at most
	cuts atomic.Int64
	mu   sync.Mutex // guards rand
	rand *rand.Rand
	over atomic.Bool // no more cuts
}

func (f *fragile) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &fragileConn{Conn: conn, network: f}
	c.left.Store(int64(1 + f.rand.IntN(f.most)))
	return c, nil
}

type fragileConn struct {
	net.Conn
	network *fragile
	left    atomic.Int64
}

// carry counts n bytes and cuts the connection when they are too many.
func (c *fragileConn) carry(n int) {
	if c.left.Add(-int64(n)) < 0 && !c.network.over.Load() {
		c.network.cuts.Add(1)
		_ = c.Conn.Close()
	}
}

func (c *fragileConn) Write(b []byte) (int, error) {
	if left := c.left.Load(); int64(len(b)) > left && left > 0 && !c.network.over.Load() {
		n, _ := c.Conn.Write(b[:left]) // a part arrives
		c.carry(len(b))
		return n, net.ErrClosed
	}
	n, err := c.Conn.Write(b)
	c.carry(n)
	return n, err
}

func (c *fragileConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.carry(n)
	return n, err
}

// TestConnectionsCutAnywhere sends, follows and consumes over connections that
// break all the time. Everything is there once and in order, and everybody gets
// it so.
func TestConnectionsCutAnywhere(t *testing.T) {
	h := open(t)
	const producers, messages = 4, 200
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	network := &fragile{most: 20_000, rand: rand.New(rand.NewPCG(seed, 0))}
	if err := h.dial().CreateTopic(h.ctx(), "demo", nil); err != nil {
		t.Fatal(err)
	}
	var clients []*client.Client
	for range 3 {
		c, err := client.Dial(h.ctx(), h.address, client.Options{Dialer: network.dial})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(context.Background()) }()
		clients = append(clients, c)
	}
	followed := make(chan []client.Entry, 1)
	go func() { followed <- follow(h, clients[1], producers*messages) }()
	consumed := make(chan []client.Entry, 1)
	go func() { consumed <- consume(h, clients[2], producers*messages) }()
	var sending sync.WaitGroup
	for n := range producers {
		p := h.producer(clients[0], "demo", client.ProducerOptions{MaxBatchMessages: 7})
		sending.Go(func() {
			var failed atomic.Int64
			for i := range messages {
				if err := p.SendAsync(h.ctx(), text("%d/%d", n, i), func(_ client.Receipt, err error) {
					if err != nil && failed.Add(1) == 1 {
						t.Errorf("message %d of producer %d: %v", i, n, err)
					}
				}); err != nil {
					t.Error(err)
					return
				}
				if i%20 == 0 {
					if err := p.Flush(h.ctx()); err != nil {
						t.Error(err)
					}
				}
			}
			if err := p.Close(h.ctx()); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
	wantPerProducer(t, <-followed, producers, messages)
	wantPerProducer(t, <-consumed, producers, messages)
	network.over.Store(true)
	wantPerProducer(t, h.readAll(h.dial(), "demo"), producers, messages)
	if cuts := network.cuts.Load(); cuts < 5 {
		t.Errorf("only %d connections were cut", cuts)
	}
}

// consume reads n entries through a cursor and acknowledges each batch.
func consume(h *house, c *client.Client, n int) (got []client.Entry) {
	u, err := c.Cursor(h.ctx(), "demo", "one", client.CursorOptions{FrameBytes: 500})
	if err != nil {
		h.t.Error(err)
		return nil
	}
	defer func() { _ = u.Close(context.Background()) }()
	var last sdk.Position
	for b, err := range u.Batches(h.ctx()) {
		if err != nil {
			h.t.Error(err)
			return got
		}
		if got = append(got, b.Entries...); len(b.Entries) > 0 {
			last = b.Entries[len(b.Entries)-1].Position
			if err := u.AcknowledgeUpTo(h.ctx(), last); err != nil {
				h.t.Error(err)
			}
		}
		if len(got) >= n {
			break
		}
	}
	return got
}
