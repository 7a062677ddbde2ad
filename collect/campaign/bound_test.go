package campaign

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// lateTimer is a context whose deadline has passed and whose timer has not fired
// yet, as on a busy machine.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestNothingIsSentAfterTheBoundAlsoWhenItsTimerIsLate(t *testing.T) {
	l := &loop{cutoff: 1, gone: new(atomic.Bool), now: func() int64 { return 0 }}
	if reason := l.mayNotSend(lateTimer{context.Background()}); reason != reasonOuter {
		t.Errorf("reason %q, want %q", reason, reasonOuter)
	}
	if reason := l.mayNotSend(context.Background()); reason != "" {
		t.Errorf("without a bound: reason %q", reason)
	}
}
