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

// cellBound is how long requests of a cell may go on: until its outer cap, and
// never into the time reserved for restoration.
func cellBound(c plan.Cell, p *plan.Plan, clock record.Clock, now time.Time) time.Duration {
	outer := time.Duration(c.OuterTimeoutSeconds) * time.Second
	reserve := time.Unix(0, clock.DeadlineUnixNs).Add(-time.Duration(p.LoadBoundSeconds) * time.Second)
	return min(outer, reserve.Sub(now))
}
