package sample

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryReadsAtOnceAndThenOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		start := time.Now()
		var due, at []time.Duration
		skipped := Every(ctx, time.Second, func(scheduled time.Time) {
			due = append(due, scheduled.Sub(start))
			at = append(at, time.Since(start))
		})
		want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}
		if diff := cmp.Diff(want, due); diff != "" {
			t.Error("scheduled times (-want +got):\n", diff)
		}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error("times of the readings (-want +got):\n", diff)
		}
		if skipped != 0 {
			t.Errorf("skipped = %d, want 0", skipped)
		}
	})
}

func TestEverySkipsWhatItMissesAndNeverCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 7500*time.Millisecond)
		defer cancel()
		start := time.Now()
		var at []time.Duration
		skipped := Every(ctx, time.Second, func(time.Time) {
			at = append(at, time.Since(start))
			if len(at) == 2 {
				time.Sleep(3100 * time.Millisecond) // begins at 1 s, misses 2, 3 and 4
			}
		})
		want := []time.Duration{0, time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error("times of the readings (-want +got):\n", diff)
		}
		if skipped != 3 {
			t.Errorf("skipped = %d, want 3", skipped)
		}
	})
}

func TestEveryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reads := 0
	if skipped := Every(ctx, time.Hour, func(time.Time) { reads++ }); reads != 0 || skipped != 0 {
		t.Errorf("ended context: %d readings and %d skipped, want none", reads, skipped)
	}
	if skipped := Every(t.Context(), 0, func(time.Time) { reads++ }); reads != 0 || skipped != 0 {
		t.Errorf("no interval: %d readings and %d skipped, want none", reads, skipped)
	}
}
