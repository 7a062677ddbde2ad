package simengine

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// streamHead precedes every stream. The connection ends with the stream: it is
// out of the HTTP server's hands so that each event is one write.
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n" +
	"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"

// answerUnread answers while the request's body may still be on its way, and
// closes.
func (e *Engine) answerUnread(w http.ResponseWriter, answer string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the server has closed it already
	}
	_, _ = io.WriteString(conn, answer) // a client that has left needs no answer
	_ = conn.Close()
	e.conns.Done()
}

// answerStream plays a request on its connection.
func (e *Engine) answerStream(w http.ResponseWriter, s *script) int {
	p := e.current()
	return e.takeOver(w, func(ctx context.Context, conn net.Conn) error {
		if err := writeHead(ctx, conn, s.form); err != nil {
			return err
		}
		return e.playStream(ctx, p, s, conn)
	})
}

// takeOver runs talk on the request's connection, out of the HTTP server's
// hands, and closes it. The context ends when the client leaves and when the
// process does. An error is the client's leaving, a fault or the end of the
// process, all of which the counters and the client see; there is nobody else
// to tell.
func (e *Engine) takeOver(w http.ResponseWriter, talk func(ctx context.Context, conn net.Conn) error) int {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	defer e.conns.Done()
	ctx, cancel := context.WithCancel(e.current().ctx)
	defer cancel()
	left := make(chan struct{})
	go func() {
		defer close(left)
		// Reading is how a client's leaving is noticed; it sends nothing more.
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	}()
	// The end of the process closes the connection even while a write waits for a
	// client that does not read.
	stopWatch := context.AfterFunc(ctx, func() { _ = conn.Close() })
	if errors.Is(talk(ctx, conn), errReset) {
		resetOnClose(conn)
	}
	stopWatch()
	_ = conn.Close()
	<-left
	return http.StatusOK
}

// resetOnClose makes the coming close a reset.
func resetOnClose(conn net.Conn) {
	if stamped, ok := conn.(*stampedConn); ok {
		conn = stamped.Conn
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the connection may be gone already
	}
}

// writeHead writes the head of a stream, byte by byte where its form says so.
func writeHead(ctx context.Context, conn net.Conn, f form) error {
	if f.headPause == 0 {
		_, err := io.WriteString(conn, f.head)
		return err
	}
	tick := time.NewTicker(f.headPause)
	defer tick.Stop()
	for i := range len(f.head) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if _, err := io.WriteString(conn, f.head[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// playStream writes a stream's events and, when it ended in order, what ends
// its body.
func (e *Engine) playStream(ctx context.Context, p *process, s *script, conn net.Conn) error {
	log := &sendLog{}
	if !e.cfg.DiscardLogs {
		log = e.logs.newStream(len(s.early) + len(s.frames))
	}
	out := &streamWriter{conn: conn, piece: s.form.piece, log: log, engine: e,
		send: Send{RequestOrdinal: s.job.arrival.Ordinal, Marker: s.job.ask.marker}}
	write := out.write
	if s.form.burst {
		write = out.hold
	}
	if err := p.play(ctx, s, write); err != nil {
		return err
	}
	_, err := io.WriteString(conn, s.form.end)
	return err
}

// streamWriter writes the frames of one stream and notes when.
type streamWriter struct {
	conn   net.Conn
	piece  int
	held   []frame
	engine *Engine
	log    *sendLog
	send   Send
}

// write stamps a frame and writes it.
func (o *streamWriter) write(f frame) error {
	now := readClocks()
	o.send.UnixNs, o.send.MonoNs = now.unixNs, now.monoNs
	if !o.engine.cfg.DiscardLogs {
		o.log.add(o.send)
	}
	err := o.pieces(f.bytes)
	if o.engine.cfg.SendLog != nil && err == nil {
		o.engine.cfg.SendLog(o.send)
	}
	o.send.Seq++
	return err
}

// pieces writes in one call, or in as many as the form asks for.
func (o *streamWriter) pieces(b []byte) error {
	for n := o.piece; n > 0 && len(b) > n; b = b[n:] {
		if _, err := o.conn.Write(b[:n]); err != nil {
			return err
		}
	}
	_, err := o.conn.Write(b)
	return err
}

// hold keeps frames back until the last output, then writes them all.
func (o *streamWriter) hold(f frame) error {
	o.held = append(o.held, f)
	if f.kind == frameOutput && !f.last || f.kind == frameRole {
		return nil
	}
	held := o.held
	o.held = nil
	for _, f := range held {
		if err := o.write(f); err != nil {
			return err
		}
	}
	return nil
}
