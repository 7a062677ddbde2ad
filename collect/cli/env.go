package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"time"

	"assay/collect/private"
	"assay/collect/stream"
)

// Env is everything of the outside world a command may touch, so that tests
// can run commands in-process.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	Terminal       bool   // Stderr is a terminal that can show progress
	Version        string // of the program
	// Secrets are the values of the environment variables that are named as
	// credentials: they are cut out of everything that is logged or published.
	Secrets []string
}

// OSEnv is the process's own environment.
func OSEnv() Env {
	info, err := os.Stderr.Stat()
	return Env{
		Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now,
		Terminal: err == nil && info.Mode()&os.ModeCharDevice != 0,
		Version:  BuildVersion(),
		Secrets:  private.SecretVariables(os.Environ()),
	}
}

// keeps returns the environment with one more secret, the value of a variable; an
// empty name adds none.
func (e Env) keeps(variable string) Env {
	if variable != "" {
		e.Secrets = append(slices.Clip(e.Secrets), e.Getenv(variable))
	}
	return e
}

// Guard returns a writer for texts that may hold what an engine or a command
// said: it cuts credentials out of each text written to it.
func (e Env) Guard(w io.Writer) io.Writer { return guard{w, e.Secrets} }

type guard struct {
	w       io.Writer
	secrets []string
}

// Write writes p without the credentials in it and returns p's length.
func (g guard) Write(p []byte) (int, error) {
	if _, err := io.WriteString(g.w, private.Secrets(string(p), g.secrets)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Log is the logger of the operator's commands: text on stderr, lifecycle
// lines only, never a prompt, an answer, an address or a token.
func (e Env) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(e.Guard(e.Stderr), nil))
}

// Signals returns a context that the first interrupt cancels with
// stream.ErrInterrupted as its cause; the second interrupt ends the process
// with exit code 130.
func Signals(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, stopSignals...)
	go func() {
		if _, ok := <-caught; !ok {
			return
		}
		_, _ = io.WriteString(stderr, "interrupted: closing the current cell; interrupt again to end at once\n")
		cancel(stream.ErrInterrupted)
		if _, ok := <-caught; ok {
			os.Exit(CodeInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(caught)
		close(caught)
		cancel(nil)
	}
}
