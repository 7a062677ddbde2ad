package lifecycle

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay/collect/plan"
	"assay/collect/private"
	"assay/collect/record"
)

// Outcomes of a command.
const (
	outcomeOK       = "ok"
	outcomeFailed   = "failed"  // it ended with another exit code than 0, or did not start
	outcomeTimeout  = "timeout" // it was ended at its bound
	maxOutput       = 16 << 10  // bytes of output kept, the last ones
	waitAfterKill   = 5 * time.Second
	sanitisedFields = "output"
)

// tail keeps the last bytes written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	// Twice the limit, so that a secret at the border is redacted whole before
	// the text is cut.
	if extra := len(t.kept) - 2*maxOutput; extra > 0 {
		t.kept = t.kept[extra:]
	}
	return len(p), nil
}

// run executes a command, without a shell and in a process group of its own
// that is killed at the bound, and returns its journal entry. The output is
// redacted before it goes anywhere; secrets are cut out of it wherever they stand.
func (c Command) run(ctx context.Context, name string, secrets ...string) record.Entry {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.BoundSeconds)*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = waitAfterKill
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	e := record.Entry{Kind: record.EntryLifecycle, Rule: name, Outcome: outcomeOK,
		Figures: map[string]int64{"took_ns": int64(time.Since(start)), "bound_ns": c.BoundSeconds * int64(time.Second)}}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		e.Outcome, e.Detail = outcomeTimeout, "the command was ended at its bound"
	case errors.As(err, &exit):
		e.Outcome, e.Figures["exit_code"] = outcomeFailed, int64(exit.ExitCode())
	case err != nil:
		e.Outcome, e.Detail = outcomeFailed, "the command did not start"
	default:
		e.Figures["exit_code"] = 0
	}
	if text := sanitise(out.kept, secrets...); text != "" {
		e.Facts = map[string]string{sanitisedFields: text}
	}
	return e
}

// sanitise makes an output fit to be kept: text, without secrets, paths, hosts
// and container ids, at most maxOutput bytes of it. known are credentials beside
// those of the environment.
func sanitise(output []byte, known ...string) string {
	known = append(known, private.SecretVariables(os.Environ())...)
	text := plan.RedactText(strings.ToValidUTF8(string(output), "\uFFFD"), known)
	if extra := len(text) - maxOutput; extra > 0 {
		text = strings.ToValidUTF8(text[extra:], "")
	}
	return strings.TrimSpace(text)
}
