package campaign

import (
	"slices"
	"time"
)

// View is what a campaign would do, known without sending anything.
type View struct {
	Cells            int
	Requests         int64
	Arms             []ArmView
	Cutoff, Deadline time.Time
	Deviations       []string
}

// ArmView is an arm with the address its requests would go to.
type ArmView struct{ Name, BaseURL, Model string }

// Preview says what Run would do with the same options. It fails as Run would
// for a passed cutoff or a selection of no cell, and touches nothing.
func Preview(o Options) (View, error) {
	o, err := o.withDefaults()
	if err != nil {
		return View{}, err
	}
	clock, err := dispatchClock(o.Plan, o.Now(), o.RestartClock)
	if err != nil {
		return View{}, err
	}
	view := View{
		Cutoff: time.Unix(0, clock.CutoffUnixNs), Deadline: time.Unix(0, clock.DeadlineUnixNs),
		Deviations: o.deviations(),
	}
	for _, c := range o.selected() {
		view.Cells++
		view.Requests += c.Requests
		if !slices.ContainsFunc(view.Arms, func(a ArmView) bool { return a.Name == c.Arm }) {
			view.Arms = append(view.Arms, ArmView{Name: c.Arm, BaseURL: o.baseURL(c), Model: c.Request.Model})
		}
	}
	return view, nil
}
