package stream

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"os"
	"sync/atomic"
	"time"
)

// lastChance is how long a read at an expired deadline may still take: data
// that is already here is not lost to a deadline that passed while the process
// did not run.
const lastChance = time.Millisecond

// stamp is the clock readings of one socket read that brought bytes.
type stamp struct {
	seq          int64
	bytes        int64
	readNs       int64 // monotonic, after t0
	readUnixNs   int64 // same instant
	kernelUnixNs int64
	hasKernel    bool
}

// stampedConn is a connection whose reads are stamped and bounded by the idle
// limit. It lies below TLS. Reads come from one goroutine; Write and abort may
// come from others.
type stampedConn struct {
	net.Conn
	reader *stampReader
	t0     time.Time
	idle   time.Duration
	hard   time.Time // no read goes on after it; zero is none

	lastByte time.Time // when the last byte came; t0 before the first
	last     stamp     // of the last read that brought bytes
	reads    int64
	stamped  int64
	received int64
	aborted  atomic.Bool
}

// dial opens the connection, with receive times asked for before it connects.
// Addresses are tried one after the other, never in parallel. resolved is
// called when a name has been looked up, and never for an address.
func dial(ctx context.Context, addr string, resolved func()) (net.Conn, error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSDone: func(httptrace.DNSDoneInfo) { resolved() },
	})
	d := net.Dialer{FallbackDelay: -1, Control: stampSocket}
	return d.DialContext(ctx, "tcp", addr)
}

// newStampedConn wraps a connection dialled at t0.
func newStampedConn(conn net.Conn, t0 time.Time, idle time.Duration) (*stampedConn, error) {
	r, err := newStampReader(conn)
	if err != nil {
		return nil, err
	}
	c := &stampedConn{Conn: conn, reader: r, t0: t0, idle: idle, lastByte: t0}
	return c, conn.SetReadDeadline(c.deadline())
}

// Read reads once from the socket. At the idle limit, or when aborted, it
// returns os.ErrDeadlineExceeded. The socket's deadline is moved only when it
// expires, not at each read.
func (c *stampedConn) Read(p []byte) (int, error) {
	for last := false; ; {
		n, kernel, ok, err := c.reader.read(p)
		if n > 0 {
			c.note(n, kernel, ok)
			return n, err
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || c.aborted.Load() || last {
			return 0, err
		}
		until := c.deadline()
		if now := time.Now(); !now.Before(until) {
			until, last = now.Add(lastChance), true
		}
		if err := c.setReadDeadline(until); err != nil {
			return 0, err
		}
	}
}

// note records a read that returned n > 0 bytes. It comes first after the
// read: the stamp must not hold our own work. A read of 0 bytes has no stamp
// and never gets here.
func (c *stampedConn) note(n int, kernelUnixNs int64, stamped bool) {
	now := time.Now()
	c.lastByte = now
	c.last = stamp{
		seq:          c.reads,
		bytes:        int64(n),
		readNs:       int64(now.Sub(c.t0)),
		readUnixNs:   now.UnixNano(),
		kernelUnixNs: kernelUnixNs,
		hasKernel:    stamped,
	}
	c.reads++
	c.received += int64(n)
	if stamped {
		c.stamped++
	}
}

// deadline is when reading ends if no byte comes.
func (c *stampedConn) deadline() time.Time {
	until := c.lastByte.Add(c.idle)
	if !c.hard.IsZero() && c.hard.Before(until) {
		return c.hard
	}
	return until
}

// endBy bounds all further reading.
func (c *stampedConn) endBy(t time.Time) error {
	c.hard = t
	return c.setReadDeadline(c.deadline())
}

// setReadDeadline moves the deadline unless the connection is aborted. abort
// may run at any point of it: it raises the flag before it sets its deadline,
// so one of the two sees the other.
func (c *stampedConn) setReadDeadline(t time.Time) error {
	if err := c.Conn.SetReadDeadline(t); err != nil {
		return err
	}
	if c.aborted.Load() {
		c.abort() // its deadline may just have been overwritten
		return os.ErrDeadlineExceeded
	}
	return nil
}

// abort ends all reads and writes, now and later.
func (c *stampedConn) abort() {
	c.aborted.Store(true)
	_ = c.SetDeadline(time.Unix(1, 0)) // fails only when closed already
}
