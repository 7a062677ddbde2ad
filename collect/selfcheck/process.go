package selfcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"
)

// ServerCommand is the command with which this program becomes the server: its
// argument is the longest time it may live. A test binary that calls Run must
// serve it in TestMain.
const ServerCommand = "selfcheck-server"

// insideVar marks a server's environment. A server never starts another: a
// program that does not know ServerCommand, such as a test binary, would
// otherwise start itself without end.
const insideVar = "ASSAY_SELFCHECK_SERVER"

// Bounds of waiting for the server process.
const (
	replyWait = 10 * time.Second // for a line
	exitWait  = 5 * time.Second  // for its end after stop
)

var errInside = errors.New("the self-check's server does not start another")

// process is the server process, seen from the one that measures.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	orders *json.Encoder
	lines  chan line // closed at the end of the process's output
	stderr bytes.Buffer
	addr   string
}

// start runs this executable again as the server. It lives until stop, until
// this process ends, or until bound has passed.
func start(ctx context.Context, bound time.Duration) (*process, error) {
	if os.Getenv(insideVar) != "" {
		return nil, errInside
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own executable: %w", err)
	}
	p := &process{cmd: exec.Command(self, ServerCommand, bound.String()), lines: make(chan line, 8)}
	p.cmd.Env = append(os.Environ(), insideVar+"=1")
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe from server: %w", err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("pipe to server: %w", err)
	}
	p.orders = json.NewEncoder(p.stdin)
	if err := p.cmd.Start(); err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err // the reason may be stored, the program's place may not
		}
		return nil, fmt.Errorf("start server: %w", err)
	}
	go p.read(stdout)
	first, err := p.reply(ctx)
	if err == nil && first.Addr == "" {
		err = errors.New("the server printed no address")
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.addr = first.Addr
	return p, nil
}

// read passes on the lines of the server until there are no more.
func (p *process) read(stdout io.Reader) {
	defer close(p.lines)
	for decode := json.NewDecoder(stdout); ; {
		var l line
		if decode.Decode(&l) != nil {
			return // its end, or not our server: the missing line is noticed
		}
		p.lines <- l
	}
}

// reply waits for the server's next line.
func (p *process) reply(ctx context.Context) (line, error) {
	select {
	case l, ok := <-p.lines:
		if !ok {
			return line{}, errors.New("the server process ended")
		}
		return l, nil
	case <-time.After(replyWait):
		return line{}, errors.New("the server process does not answer")
	case <-ctx.Done():
		return line{}, context.Cause(ctx)
	}
}

// ask gives an order and waits for the reply.
func (p *process) ask(ctx context.Context, o order) (line, error) {
	if err := p.orders.Encode(o); err != nil {
		return line{}, fmt.Errorf("give order to server: %w", err)
	}
	return p.reply(ctx)
}

// stop ends the server and waits until it is gone; one that does not end by
// itself is killed.
func (p *process) stop() error {
	_ = p.stdin.Close() // its own end closes it as well
	late := time.AfterFunc(exitWait, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	for range p.lines { // Wait must come after the last read
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("server process: %w: %s", err, strings.TrimSpace(p.stderr.String()))
	}
	return nil
}
