package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

const (
	readBuffer = 32 << 10 // bytes asked for in one read
	// writerWait bounds the wait for the writer's own error when the server
	// closed early: see exchange.serverClosed.
	writerWait = 50 * time.Millisecond
)

// Do performs one exchange and returns everything that is known of it. It never
// retries and always closes its connection; no goroutine of it is left when it
// returns. The end of ctx is the outer cap or an interrupt: its cause tells
// which (ErrOuterTimeout or a deadline; anything else is an interrupt).
func Do(ctx context.Context, r Request) Result {
	KernelStampsAvailable() // the kernel must stamp before the first read
	r = r.withDefaults()
	x := &exchange{answer: newAnswer(r)}
	t, code := r.compose()
	x.start()
	if code != "" {
		x.finish(EndConnectFailed, code)
	} else {
		x.run(ctx, t)
	}
	x.res.EndNs = sinceNs(x.res.T0)
	x.complete()
	return x.res
}

// exchange is an answer with its connection.
type exchange struct {
	*answer
	conn *stampedConn
	app  net.Conn // conn, or TLS over it
	sent sending
}

// sending is the writer's outcome, valid when done is closed.
type sending struct {
	done chan struct{}
	n    int
	err  error
	ns   *int64
}

// start reads the clock: t0.
func (x *exchange) start() {
	x.res.T0 = time.Now()
	x.res.T0UnixNs = x.res.T0.UnixNano()
}

// run dials, sends and reads until the end is decided.
func (x *exchange) run(ctx context.Context, t target) {
	if !x.connect(ctx, t.addr) {
		return
	}
	unwatch := x.watch(ctx)
	if x.secure(ctx, t.tls) {
		x.send(t.wire)
		x.receive(ctx)
	}
	// The socket is closed under TLS: a close_notify could wait for a peer that
	// does not read, and the answer's end is known by its framing.
	_ = x.conn.Close() // nothing more is expected of it
	unwatch()
	x.settle()
}

// connect dials within the idle limit. It reports whether there is a
// connection.
func (x *exchange) connect(ctx context.Context, addr string) bool {
	dialCtx, cancel := context.WithDeadline(ctx, x.res.T0.Add(x.req.IdleLimit))
	defer cancel()
	conn, err := dial(dialCtx, addr, func() { x.res.DNSNs = sinceNs(x.res.T0) })
	if err != nil {
		x.connectFailed(ctx, err)
		return false
	}
	x.res.ConnectNs = sinceNs(x.res.T0)
	if x.conn, err = newStampedConn(conn, x.res.T0, x.req.IdleLimit); err != nil {
		x.finish(EndConnectFailed, errorCode(err))
		_ = conn.Close() // unused
		return false
	}
	x.app = x.conn
	return true
}

func (x *exchange) connectFailed(ctx context.Context, err error) {
	if kind, ended := endOfContext(ctx); ended {
		x.finish(kind, "connect")
		return
	}
	if time.Since(x.res.T0) >= x.req.IdleLimit {
		x.finish(EndIdleTimeout, "connect")
		return
	}
	x.finish(EndConnectFailed, errorCode(err))
}

// watch aborts the connection when ctx ends. The returned function ends the
// watch and waits for an abort under way.
func (x *exchange) watch(ctx context.Context) func() {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		x.conn.abort()
	})
	return func() {
		if !stop() {
			<-ended
		}
	}
}

// secure performs the TLS handshake, if any. It reports whether the exchange
// can go on.
func (x *exchange) secure(ctx context.Context, cfg *tls.Config) bool {
	if cfg == nil {
		return true
	}
	// The handshake writes as well, so the idle limit must bound its writes.
	_ = x.conn.SetWriteDeadline(x.res.T0.Add(x.req.IdleLimit)) // an error shows in the handshake
	session := tls.Client(x.conn, cfg)
	if err := session.Handshake(); err != nil {
		x.handshakeFailed(ctx, err)
		return false
	}
	if err := x.conn.SetWriteDeadline(time.Time{}); err != nil {
		x.finish(EndTLSFailed, errorCode(err))
		return false
	}
	x.res.TLSNs = sinceNs(x.res.T0)
	x.app = session
	return true
}

func (x *exchange) handshakeFailed(ctx context.Context, err error) {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		x.finish(EndTLSFailed, tlsCode(err))
		return
	}
	if kind, ended := endOfContext(ctx); ended {
		x.finish(kind, "tls")
		return
	}
	x.finish(EndIdleTimeout, "tls")
}

// send writes the request in a goroutine, so that an answer that comes before
// the request is through is read all the same.
func (x *exchange) send(wire []byte) {
	x.sent.done = make(chan struct{})
	go func() {
		defer close(x.sent.done)
		x.sent.n, x.sent.err = x.app.Write(wire)
		x.sent.ns = sinceNs(x.res.T0)
	}()
}

// receive reads until the end is decided.
func (x *exchange) receive(ctx context.Context) {
	buf := make([]byte, readBuffer)
	for grace := false; !x.over; {
		n, err := x.app.Read(buf)
		if n > 0 {
			x.feed(buf[:n], x.conn.last)
		}
		if err != nil && !x.over {
			x.readFailed(ctx, err)
		}
		if x.done && !grace {
			grace = true
			_ = x.conn.endBy(time.Now().Add(x.req.DoneGrace)) // an error shows in the next read
		}
	}
}

// readFailed decides the end when a read returned an error.
func (x *exchange) readFailed(ctx context.Context, err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		x.deadlinePassed(ctx)
	case errors.Is(err, io.EOF):
		x.serverClosed()
	case errors.Is(err, io.ErrUnexpectedEOF): // cut inside a TLS record
		x.finish(EndShortBody, "tls_record")
	case !fromSocket(err):
		x.finish(EndProtocol, "tls_record")
	default:
		x.finish(EndConnectionReset, errorCode(err))
	}
}

// deadlinePassed decides the end when reading stopped by our own clock.
func (x *exchange) deadlinePassed(ctx context.Context) {
	kind, ended := endOfContext(ctx)
	switch {
	case ended:
		x.finish(kind, x.phase())
	case x.done:
		x.finish(EndProtocol, "grace_expired")
	default:
		x.finish(EndIdleTimeout, x.phase())
	}
}

// serverClosed decides the end at the end of the byte stream. The kernel
// reports a reset once only: when the writer got it, the reader sees a plain
// end. So a writer still busy is waited for, briefly.
func (x *exchange) serverClosed() {
	ns := sinceNs(x.res.T0)
	select {
	case <-x.sent.done:
		if wasReset(x.sent.err) {
			x.finish(EndConnectionReset, errorCode(x.sent.err))
			return
		}
	case <-time.After(writerWait):
	}
	x.closed(*ns)
}

// settle joins the writer and fills what the connection knows.
func (x *exchange) settle() {
	x.res.BytesReceived = x.conn.received
	x.res.Reads = x.conn.reads
	x.res.StampedReads = x.conn.stamped
	if x.conn.reads > 0 {
		x.res.LastByteNs = &x.conn.last.readNs
	}
	if x.sent.done == nil {
		return
	}
	<-x.sent.done
	x.res.BytesSent = int64(x.sent.n)
	switch {
	case x.sent.err == nil:
		x.res.WroteNs = x.sent.ns
	case wasReset(x.sent.err):
		x.res.BodyWriteError = errorCode(x.sent.err)
	default: // our own close ended it
		x.res.BodyWriteError = "unfinished"
	}
}

// sinceNs is now as a phase.
func sinceNs(t0 time.Time) *int64 {
	ns := int64(time.Since(t0))
	return &ns
}
