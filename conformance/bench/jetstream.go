package main

import (
	"errors"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// jetStreamLog is the peer of the rows over the wire: a NATS JetStream stream
// on disk, in this process, reached over loopback, that syncs before it
// acknowledges.
type jetStreamLog struct {
	server *server.Server
	conn   *nats.Conn
	stream nats.JetStreamContext
}

func openJetStreamLog(dir string) (appender, error) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir,
		SyncAlways: true, NoLog: true, NoSigs: true,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, errors.New("the NATS server did not get ready within 10 s")
	}
	l := &jetStreamLog{server: s}
	if l.conn, err = nats.Connect(s.ClientURL()); err == nil {
		l.stream, err = l.conn.JetStream(nats.PublishAsyncMaxPending(1024))
	}
	if err == nil {
		_, err = l.stream.AddStream(&nats.StreamConfig{Name: "bench", Subjects: []string{"bench"}, Storage: nats.FileStorage})
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *jetStreamLog) add(payload []byte) error {
	future, err := l.stream.PublishAsync("bench", payload)
	if err != nil {
		return err
	}
	select {
	case <-future.Ok():
		return nil
	case err := <-future.Err():
		return err
	}
}

func (l *jetStreamLog) adder(func()) func([]byte) error { return unsupported }

func (l *jetStreamLog) close() error {
	if l.conn != nil {
		l.conn.Close()
	}
	l.server.Shutdown()
	l.server.WaitForShutdown()
	return nil
}
