package campaign

import (
	"fmt"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
)

// dispatchClock is the campaign's clock: when dispatch starts, when it must
// end, and when the host must be free again. All wall clock.
func dispatchClock(p *plan.Plan, lockedAt time.Time, restart bool) (record.Clock, error) {
	dispatch, cutoff, deadline := p.DispatchClockStartedAt, p.AbsoluteRequestCutoff, p.AbsoluteCampaignDeadline
	if restart {
		dispatch = lockedAt
		cutoff = dispatch.Add(time.Duration(p.RequestCutoffSeconds) * time.Second)
		deadline = dispatch.Add(time.Duration(p.TotalBoundSeconds) * time.Second)
	}
	if !lockedAt.Before(cutoff) {
		return record.Clock{}, fmt.Errorf("%w: it was %s and it is now %s; --restart-clock starts a new dispatch clock beside the frozen one",
			ErrCutoffPassed, cutoff.UTC().Format(time.RFC3339), lockedAt.UTC().Format(time.RFC3339))
	}
	return record.Clock{
		Restarted:      restart,
		DispatchUnixNs: dispatch.UnixNano(),
		CutoffUnixNs:   cutoff.UnixNano(),
		DeadlineUnixNs: deadline.UnixNano(),
	}, nil
}

// inFlightUntil is the wall clock, ns since 1970 UTC, until which requests in
// flight may go on: from there on only restoration (measurement.md section 12).
func inFlightUntil(p *plan.Plan, clock record.Clock) int64 {
	return clock.DeadlineUnixNs - p.LoadBoundSeconds*int64(time.Second)
}

// cellBound is how long requests of a cell may go on: until its outer cap, and
// never into the time reserved for restoration.
func cellBound(c plan.Cell, p *plan.Plan, clock record.Clock, now time.Time) time.Duration {
	outer := time.Duration(c.OuterTimeoutSeconds) * time.Second
	return min(outer, time.Unix(0, inFlightUntil(p, clock)).Sub(now))
}
