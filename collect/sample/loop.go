package sample

import (
	"context"
	"time"
)

// Every calls read at once and then at each whole multiple of interval, one call
// at a time, until ctx ends; then it returns how many readings were skipped. A
// reading that is due while the one before still runs is skipped and counted,
// not made up for: a burst of late readings would load the engine and show
// nothing new. read gets the time it was due. An interval that is not positive
// gives no reading.
func Every(ctx context.Context, interval time.Duration, read func(scheduled time.Time)) (skipped int64) {
	if interval <= 0 {
		return 0
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := time.Now(); ; {
		select {
		case <-ctx.Done():
			return skipped
		case <-timer.C:
		}
		if ctx.Err() != nil { // both were ready: the end wins
			return skipped
		}
		read(due)
		missed := int64(time.Since(due) / interval)
		skipped += missed
		due = due.Add(time.Duration(missed+1) * interval)
		timer.Reset(time.Until(due))
	}
}
