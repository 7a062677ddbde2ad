package simengine

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// stampedListener hands out connections that stamp the first byte of a request.
type stampedListener struct{ net.Listener }

// Accept wraps the next connection.
func (l stampedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stampedConn{Conn: c, armed: true}, nil
}

// stampedConn reads both clocks when the first byte of a request has been read:
// a request's time runs from there, not from the handler, which starts after the
// head and, for a long prompt, much before the last byte.
type stampedConn struct {
	net.Conn
	mu    sync.Mutex
	armed bool
	first instant
}

// Read reads and stamps.
func (c *stampedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.mu.Lock()
		if c.armed {
			c.armed = false
			c.first = readClocks()
		}
		c.mu.Unlock()
	}
	return n, err
}

// rearm makes the next byte the first one of a new request.
func (c *stampedConn) rearm() {
	c.mu.Lock()
	c.armed = true
	c.mu.Unlock()
}

// firstByte is the stamp of the present request.
func (c *stampedConn) firstByte() instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first
}

type connKey struct{}

// withConn puts the connection into its requests' contexts.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf is the connection of a request.
func connOf(r *http.Request) *stampedConn {
	c, _ := r.Context().Value(connKey{}).(*stampedConn)
	return c
}

// connState follows a connection's life. A hijacked one is counted out by its
// stream.
func (e *Engine) connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		e.conns.Add(1)
	case http.StateIdle:
		if s, ok := c.(*stampedConn); ok {
			s.rearm()
		}
	case http.StateClosed:
		e.conns.Done()
	}
}
