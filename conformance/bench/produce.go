package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tidemark-engine/tidemark/engine"
	"github.com/tidemark-engine/tidemark/engine/server"
	"github.com/tidemark-engine/tidemark/plugins/pebble"
	"github.com/tidemark-engine/tidemark/sdk/client"
	"github.com/tidemark-engine/tidemark/sdk/message"
	tidemarkv1 "github.com/tidemark-engine/tidemark/sdk/proto/tidemark/v1"
)

// produceRows measure durable adds over gRPC on loopback, client and daemon in
// this process, against JetStream that syncs before it acknowledges.
func produceRows() []row {
	var rows []row
	for _, sync := range syncDelays {
		delay := sync.delay
		streamed := row{name: "produce/grpc-500-waiting/128B/" + sync.name, unit: "entries/s", run: func(ctx context.Context, e env) (float64, error) {
			return manyWaiting.measureEach(ctx, e, 128, func(dir string) (producing, error) { return openRemote(dir, delay) })
		}}
		if delay == 0 {
			const peer = "produce/jetstream-sync-always/500-waiting/128B"
			streamed.base, streamed.aim = peer, 15
			rows = append(rows, row{name: peer, unit: "entries/s", run: func(ctx context.Context, e env) (float64, error) {
				return manyWaiting.measure(ctx, e, 128, openJetStreamLog)
			}})
		}
		rows = append(rows, streamed, row{name: "produce/grpc-unary-1-waiting/128B/" + sync.name, unit: "us/entry", lower: true, run: func(ctx context.Context, e env) (float64, error) {
			rate, err := oneWaiting.measureEach(ctx, e, 128, func(dir string) (producing, error) {
				r, err := openRemote(dir, delay)
				return unary{r}, err
			})
			return 1e6 / rate, err
		}})
	}
	return rows
}

// producing is a topic to which each producer of a load has a way of its own.
type producing interface {
	producer(ctx context.Context, i int) (appender, error)
	close() error
}

// measureEach is measure for a load whose producers do not share one appender.
func (l load) measureEach(ctx context.Context, e env, size int, open func(dir string) (producing, error)) (float64, error) {
	var topic producing
	return l.measure(ctx, e, size, func(dir string) (appender, error) {
		var err error
		if topic, err = open(dir); err != nil {
			return nil, err
		}
		all := &spread{topic: topic, turns: make(chan appender, l.producers)}
		for i := range l.producers {
			p, err := topic.producer(ctx, i)
			if err != nil {
				return nil, errors.Join(err, topic.close())
			}
			all.turns <- p
		}
		return all, nil
	})
}

// spread gives each add the next producer that has nothing outstanding.
type spread struct {
	topic producing
	turns chan appender
}

func (s *spread) add(payload []byte) error {
	p := <-s.turns
	err := p.add(payload)
	s.turns <- p
	return err
}

func (s *spread) adder(func()) func([]byte) error { return unsupported }
func (s *spread) close() error                    { return s.topic.close() }

// remote is a daemon's server over an engine on pebble, and a client of it.
type remote struct {
	client *client.Client
	conn   *grpc.ClientConn
	finish func() error
}

func openRemote(dir string, syncDelay time.Duration) (*remote, error) {
	ctx := context.Background()
	s, err := pebble.Open(dir, pebble.Options{SyncDelay: syncDelay})
	if err != nil {
		return nil, err
	}
	e, err := engine.Open(ctx, engine.Settings{Ledgers: s, Metadata: s.Metadata(), Plugin: s}, engine.DefaultConfig())
	if err != nil {
		return nil, err
	}
	if _, err := e.CreateTopic(ctx, "bench", engine.TopicOptions{}); err != nil {
		return nil, err
	}
	srv, err := server.New(e, server.DefaultOptions())
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go srv.ServeGRPC(l) // ends with srv.Close
	c, err := client.Dial(ctx, l.Addr().String(), client.Options{})
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	return &remote{client: c, conn: conn, finish: func() error {
		return errors.Join(c.Close(ctx), conn.Close(), srv.Close(ctx), e.Close(ctx), s.Close(ctx))
	}}, err
}

func (r *remote) close() error { return r.finish() }

func (r *remote) producer(ctx context.Context, i int) (appender, error) {
	p, err := r.client.Producer(ctx, "bench", client.ProducerOptions{Name: fmt.Sprint("bench-", i)})
	return clientProducer{p}, err
}

// clientProducer is a producer of the Go client as an appender.
type clientProducer struct{ producer *client.Producer }

func (p clientProducer) add(payload []byte) error {
	_, err := p.producer.Send(context.Background(), message.Message{Payload: payload})
	return err
}

func (p clientProducer) adder(func()) func([]byte) error { return unsupported }
func (p clientProducer) close() error                    { return p.producer.Close(context.Background()) }

// unary appends by single calls, the convenience that does not batch.
type unary struct{ *remote }

func (u unary) producer(context.Context, int) (appender, error) {
	return unaryProducer{tidemarkv1.NewProduceServiceClient(u.conn)}, nil
}

type unaryProducer struct {
	service tidemarkv1.ProduceServiceClient
}

func (p unaryProducer) add(payload []byte) error {
	_, err := p.service.Append(context.Background(), &tidemarkv1.AppendRequest{Topic: "bench", Messages: []*tidemarkv1.Message{{Payload: payload}}})
	return err
}

func (p unaryProducer) adder(func()) func([]byte) error { return unsupported }
func (p unaryProducer) close() error                    { return nil }
