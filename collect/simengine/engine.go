package simengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ErrDied is what Serve returns when the fault engine_dies ended it.
var ErrDied = errors.New("the simulated engine died")

// Engine is one simulated engine. Its methods may be called from any goroutine.
type Engine struct {
	cfg      Config
	faults   []activeFault
	logs     logs
	ordinals atomic.Int64
	chats    atomic.Int64

	mu      sync.Mutex
	process *process
	serving bool
	died    bool
	sick    bool
	// stop ends Serve; birth starts a process inside Serve's context.
	stop  context.CancelFunc
	birth func() *process
	// conns counts the connections whose goroutines still run.
	conns sync.WaitGroup
}

// New checks the configuration and returns an engine that does not listen yet.
// The error lists everything that is wrong.
func New(cfg Config) (*Engine, error) {
	full, err := cfg.withDefaults()
	faults, faultErr := parseFaults(cfg.Faults)
	if err := errors.Join(err, faultErr); err != nil {
		return nil, fmt.Errorf("simulated engine: %w", err)
	}
	return &Engine{cfg: full, faults: faults}, nil
}

// Start makes an engine and serves it on a free loopback port. It returns the
// base URL ("http://127.0.0.1:PORT/v1") and a function that stops the engine and
// waits until it has; the function may be called more than once. The engine
// also stops when ctx ends.
func Start(ctx context.Context, cfg Config) (e *Engine, baseURL string, stop func(), err error) {
	e, err = New(cfg)
	if err != nil {
		return nil, "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, fmt.Errorf("listen on loopback: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		// The reasons to end are the caller's own, or the fault the caller asked
		// for.
		_ = e.Serve(ctx, listener)
	}()
	stop = func() {
		cancel()
		<-over
	}
	return e, "http://" + listener.Addr().String() + "/v1", stop, nil
}

// Serve answers on the listener until ctx ends, then closes the listener and
// every connection and returns nil once no handler runs. It returns ErrDied
// when a fault ended the engine, and may be called once.
func (e *Engine) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := e.boot(ctx, cancel); err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler:           e.handler(),
		ReadHeaderTimeout: 30 * time.Second,
		ConnContext:       withConn,
		ConnState:         e.connState,
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-ctx.Done()
		// Streams are hijacked: their own contexts, children of ctx, end them.
		_ = server.Close()
	}()
	err := server.Serve(stampedListener{listener})
	cancel()
	<-closed
	e.conns.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.died {
		return ErrDied
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// boot starts the first process.
func (e *Engine) boot(ctx context.Context, stop context.CancelFunc) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.serving {
		return errors.New("the engine has already been served; make a new one")
	}
	e.serving = true
	e.stop = stop
	e.birth = func() *process { return newProcess(ctx, e.cfg) }
	e.process = e.birth()
	return nil
}

// current is the living process.
func (e *Engine) current() *process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.process
}

// restart ends every stream and begins a new process with fresh counters.
func (e *Engine) restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.process.kill()
	e.process = e.birth()
}

// die stops listening and closes every connection.
func (e *Engine) die() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.died = true
	e.stop()
}

// sicken lets the health check fail from now on.
func (e *Engine) sicken() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sick = true
}

// healthy says whether the health check passes.
func (e *Engine) healthy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.sick
}
