package server

import (
	"net"
	"sync"
)

// conns are the open connections of gRPC. The gRPC server ends those that it
// speaks on, but waits for minutes for one on which nobody has said anything,
// as those of port scanners are.
type conns struct {
	mu   sync.Mutex // guards open
	open map[net.Conn]struct{}
}

// of returns l with its connections counted among these.
func (c *conns) of(l net.Listener) net.Listener { return &countingListener{Listener: l, conns: c} }

// cut closes all connections.
func (c *conns) cut() {
	c.mu.Lock()
	var open []net.Conn
	for conn := range c.open {
		open = append(open, conn)
	}
	c.mu.Unlock()
	for _, conn := range open {
		_ = conn.Close()
	}
}

type countingListener struct {
	net.Listener
	conns *conns
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	counted := &countedConn{Conn: conn, conns: l.conns}
	l.conns.mu.Lock()
	defer l.conns.mu.Unlock()
	if l.conns.open == nil {
		l.conns.open = map[net.Conn]struct{}{}
	}
	l.conns.open[counted] = struct{}{}
	return counted, nil
}

type countedConn struct {
	net.Conn
	conns *conns
}

func (c *countedConn) Close() error {
	c.conns.mu.Lock()
	delete(c.conns.open, c)
	c.conns.mu.Unlock()
	return c.Conn.Close()
}
