package plan

import (
	"slices"
	"time"
)

// maxCells bounds an expansion. The largest real campaign has 48.
const maxCells = 10_000

// maxSeedStep keeps the arithmetic of seeds far from overflow.
const maxSeedStep = 1_000_000

// Expand turns a short campaign spec (YAML, see examples/) into the frozen plan:
// every arm runs every group, context and concurrency, in that order. Times the
// spec leaves out are now. The absolute cutoff and deadline are computed.
//
// Problems of the spec's form name a line, or a pointer into the spec. When the
// spec is sound the plan is decoded and checked like any other, and its problems
// point into the expanded plan. The plan is nil when there is any problem.
func Expand(data []byte, now time.Time) (planJSON []byte, problems []Problem) {
	s, problems := decodeSpec(data)
	if len(problems) > 0 {
		return nil, problems
	}
	if problems := s.check(); len(problems) > 0 {
		return nil, problems
	}
	root, problems := s.plan(now)
	if len(problems) > 0 {
		return nil, problems
	}
	planJSON = pretty(root)
	p, problems := Decode(planJSON)
	more, _ := Check(p, now)
	if problems = append(problems, more...); len(problems) > 0 {
		for i := range problems {
			problems[i].Detail += " (in the expanded plan)"
		}
		return nil, problems
	}
	return planJSON, nil
}

// check finds what would be lost or unclear in the expansion; everything else is
// found by Check in the plan.
func (s *spec) check() []Problem {
	d := &decoder{}
	if len(s.Arms) == 0 {
		d.add("bad_spec", "/arms", "the spec has no arm")
	}
	if len(s.Cells) == 0 {
		d.add("bad_spec", "/cells", "the spec has no cell group")
	}
	for i, a := range s.Arms {
		if slices.IndexFunc(s.Arms, func(b specArm) bool { return a.Name == b.Name }) < i {
			d.add("bad_spec", at(at("/arms", i), "name"), "two arms have this name")
		}
	}
	cells := 0
	for i, g := range s.Cells {
		pointer := at("/cells", i)
		if len(g.Contexts) == 0 || len(g.Concurrency) == 0 {
			d.add("bad_spec", pointer, "a group needs contexts and concurrency")
		}
		if g.SeedBase < 0 || g.SeedBase > seedRange.high || g.SeedStep != nil && (*g.SeedStep < 0 || *g.SeedStep > maxSeedStep) {
			d.add("bad_spec", pointer, "seed_base must be from 0 to %d, seed_step from 0 to %d", seedRange.high, maxSeedStep)
		}
		for j, o := range g.OuterTimeouts {
			if !slices.Contains(g.Contexts, o.Context) || o.Concurrency != nil && !slices.Contains(g.Concurrency, *o.Concurrency) {
				d.add("bad_spec", at(at(pointer, "outer_timeouts"), j), "this exception matches no cell of its group")
			}
		}
		cells += len(g.Contexts) * len(g.Concurrency) * len(s.Arms)
	}
	if cells > maxCells {
		d.add("bad_spec", "/cells", "the spec has %d cells; the limit is %d", cells, maxCells)
	}
	return d.problems
}

// plan builds the plan of a spec that passed check.
func (s *spec) plan(now time.Time) (node, []Problem) {
	d := &decoder{}
	created := d.specTime("/created_at", s.CreatedAt, now)
	frozen := d.specTime("/frozen_at", s.FrozenAt, now)
	dispatch := d.specTime("/dispatch_clock_started_at", s.DispatchClockStartedAt, now)
	total := s.RequestCutoffSeconds + s.RestorationReserveSeconds
	if s.RequestCutoffSeconds > secondCount.high || s.RestorationReserveSeconds > secondCount.high {
		d.add("bad_spec", "/request_cutoff_seconds", "cutoff and reserve may be at most %d s", secondCount.high)
	}
	if len(d.problems) > 0 {
		return node{}, d.problems
	}
	after := func(seconds int64) string {
		return dispatch.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339Nano)
	}
	o := newObject()
	o.str("campaign_id", s.CampaignID)
	o.str("status", StatusFrozen)
	o.str("metric_profile", s.MetricProfile)
	o.optionalStr("source_revision", s.SourceRevision)
	o.optionalStr("owner", s.Owner)
	o.optionalStr("authorization", s.Authorization)
	o.optionalStr("telemetry", s.Telemetry)
	o.optionalStr("deadline_starts", s.DeadlineStarts)
	o.str("created_at", created.Format(time.RFC3339Nano))
	o.str("frozen_at", frozen.Format(time.RFC3339Nano))
	o.str("dispatch_clock_started_at", after(0))
	o.str("absolute_request_cutoff", after(s.RequestCutoffSeconds))
	o.str("absolute_campaign_deadline", after(total))
	o.integer("request_cutoff_seconds", s.RequestCutoffSeconds)
	o.integer("load_bound_seconds", s.LoadBoundSeconds)
	o.integer("restoration_reserve_seconds", s.RestorationReserveSeconds)
	o.integer("total_bound_seconds", total)
	o.put("controls", s.Controls.object())
	o.put("models", s.models())
	o.put("matrix", s.matrix())
	o.strings("eligibility", s.Eligibility)
	o.strings("metrics", s.Metrics)
	o.texts("stops", s.Stops)
	o.texts("quality_ledger", s.QualityLedger)
	o.texts("publication", s.Publication)
	if s.Restoration != nil {
		o.put("restoration", s.Restoration.object())
	}
	return o.n, nil
}

func (d *decoder) specTime(pointer string, text *string, now time.Time) time.Time {
	if text == nil {
		return now.UTC()
	}
	t, err := time.Parse(time.RFC3339Nano, *text)
	if err != nil {
		d.add("bad_time", pointer, "expected an RFC 3339 time with its offset")
	}
	return t.UTC()
}
