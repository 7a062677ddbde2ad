package selfcheck

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// streamPath is the path of the streams; the stream's number follows.
const streamPath = "/streams/"

// startPause lies between the last connection of a paced load and its first
// event.
const startPause = 50 * time.Millisecond

// line is one line the server prints.
type line struct {
	Addr    string  `json:"addr,omitempty"`    // first line: where it listens
	Ready   bool    `json:"ready,omitempty"`   // answers an order: the load may connect
	Started bool    `json:"started,omitempty"` // all streams of a paced load have asked, it begins
	Sent    []int64 `json:"sent,omitempty"`    // answers a count: events written, by stream
}

// Serve is the server process. It listens on the loopback interface and prints
// the address on out; then it follows the orders on in. It returns at the end
// of in, which comes with the end of the process that started it, and at the
// latest after bound.
func Serve(in io.Reader, out io.Writer, bound time.Duration) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	s := &server{out: json.NewEncoder(out)}
	s.print(line{Addr: listener.Addr().String()})
	ended := make(chan error, 2)
	go func() { ended <- s.obey(in) }()
	go func() { ended <- s.accept(listener) }()
	select {
	case err = <-ended:
	case <-time.After(bound):
	}
	return errors.Join(err, listener.Close())
}

type server struct {
	mu   sync.Mutex
	out  *json.Encoder
	load atomic.Pointer[serving]
}

// serving is the load being served.
type serving struct {
	order
	sent   []atomic.Int64 // by stream
	mu     sync.Mutex
	conns  []net.Conn // of a paced load, by stream
	joined int64
}

// print writes one line. A reader that is gone shows as the end of in.
func (s *server) print(l line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(l)
}

// obey reads orders until there are no more.
func (s *server) obey(in io.Reader) error {
	orders := json.NewDecoder(in)
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read order: %w", err)
		}
		if o.Count {
			s.print(line{Sent: s.load.Load().counts()})
			continue
		}
		s.load.Store(&serving{order: o, sent: make([]atomic.Int64, o.Streams), conns: make([]net.Conn, o.Streams)})
		s.print(line{Ready: true})
	}
}

func (s *server) accept(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		go s.answer(conn)
	}
}

// answer reads one request and serves its stream. A paced stream is handed to
// the load; the last one to come starts it.
func (s *server) answer(conn net.Conn) {
	load := s.load.Load()
	stream, err := readRequest(conn)
	if err == nil && (load == nil || stream < 0 || stream >= load.Streams) {
		err = fmt.Errorf("there is no stream %d", stream)
	}
	if err == nil {
		_, err = io.WriteString(conn, head)
	}
	if err != nil {
		_ = conn.Close() // our client sees a failed stream; a stranger does not matter
		return
	}
	if load.Mode == Flood {
		load.flood(stream, conn)
		return
	}
	if load.join(stream, conn) {
		s.print(line{Started: true})
		load.pace(newSleeper(), time.Now().Add(startPause))
	}
}

// readRequest returns the number of the stream that the request asks for.
func readRequest(conn net.Conn) (stream int64, err error) {
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return 0, fmt.Errorf("read request: %w", err)
	}
	if _, err := io.Copy(io.Discard, request.Body); err != nil {
		return 0, fmt.Errorf("read request body: %w", err)
	}
	number, ok := strings.CutPrefix(request.URL.Path, streamPath)
	if stream, err = strconv.ParseInt(number, 10, 64); err != nil || !ok {
		return 0, errors.New("the request's path names no stream")
	}
	return stream, nil
}

// counts are the events sent, by stream.
func (l *serving) counts() []int64 {
	if l == nil {
		return nil
	}
	counts := make([]int64, len(l.sent))
	for i := range l.sent {
		counts[i] = l.sent[i].Load()
	}
	return counts
}

// join adds a stream's connection. It reports whether the load is complete.
func (l *serving) join(stream int64, conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[stream] == nil {
		l.joined++
	}
	l.conns[stream] = conn
	return l.joined == l.Streams
}

// due is when event k of stream i is sent, after the start: each stream has its
// own absolute schedule, and their phases are spread evenly over one interval.
func (l *serving) due(k, i int64) time.Duration {
	return time.Duration(k*int64(time.Second)/l.Rate + i*int64(time.Second)/(l.Rate*l.Streams))
}

// pace sends all events of a paced load. An event that is late delays no other.
// One goroutine sends for all streams: waking one for each would take the cores
// away from the client.
func (l *serving) pace(s sleeper, start time.Time) {
	c := newChunk()
	for k := range l.Events {
		c.number(k)
		for i, conn := range l.conns {
			s.until(start, l.due(k, int64(i)))
			c.stamp(time.Now().UnixNano())
			if _, err := conn.Write(c.wire); err == nil {
				l.sent[i].Add(1)
			}
		}
	}
	for _, conn := range l.conns {
		finish(conn)
	}
}

// flood sends one answer of a flood. Numbers go on from the stream's answer
// before.
func (l *serving) flood(stream int64, conn net.Conn) {
	c := newChunk()
	first := l.sent[stream].Load()
	for k := range l.Events {
		c.number(first + k)
		c.stamp(time.Now().UnixNano())
		if _, err := conn.Write(c.wire); err != nil {
			break
		}
		l.sent[stream].Add(1)
	}
	finish(conn)
}

// finish ends an answer. A client that is gone has seen its own error.
func finish(conn net.Conn) {
	_, _ = io.WriteString(conn, end)
	_ = conn.Close()
}
