package campaign

import (
	"maps"
	"testing"

	"assay/collect/plan"
	"assay/collect/simengine"
)

func TestPreflight(t *testing.T) {
	gone := "http://127.0.0.1:1/v1"
	for name, test := range map[string]struct {
		change func(*simengine.Config)
		edit   func(*plan.Plan)
		other  bool // the second arm answers too
		first  bool // the first arm answers
		old    bool // the frozen clock
		want   map[string]Verdict
	}{
		"all is well":                {nil, nil, true, true, false, map[string]Verdict{"clock": CheckOK, "baseline endpoint": CheckOK, "baseline served id": CheckOK, "baseline model length": CheckOK, "baseline metrics": CheckOK, "baseline prompt of context 4096": CheckOK, "candidate endpoint": CheckOK, "disk": CheckOK}},
		"the second is loaded later": {nil, nil, false, true, false, map[string]Verdict{"baseline endpoint": CheckOK, "candidate endpoint": CheckWarn}},
		"nothing answers, too late":  {nil, nil, false, false, true, map[string]Verdict{"clock": CheckFail, "baseline endpoint": CheckFail, "candidate endpoint": CheckWarn}},
		"another model":              {func(c *simengine.Config) { c.Model = "model-z" }, nil, true, true, false, map[string]Verdict{"baseline served id": CheckFail}},
		"a shorter model":            {func(c *simengine.Config) { c.MaxModelLen = 30000 }, nil, true, true, false, map[string]Verdict{"baseline served id": CheckOK, "baseline model length": CheckFail}},
		"a prompt that cannot fit": {nil, func(p *plan.Plan) {
			n := int64(32000)
			for i := range p.Cells {
				p.Cells[i].Request.MaxTokens = &n
				p.Cells[i].Request.MaxModelLen = 33000
			}
		}, true, true, false, map[string]Verdict{"baseline model length": CheckFail}},
		"a run larger than any disk": {nil, func(p *plan.Plan) { p.Cells[0].Requests = 1 << 40 }, true, true, false, map[string]Verdict{"disk": CheckFail}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := gone, gone
			if test.first {
				_, a = sim(t, "model-a", test.change)
			}
			engine, url := sim(t, "model-b", nil)
			if test.other {
				b = url
			}
			o := options(t, smallPlan(t, test.edit), a, b)
			o.RestartClock = !test.old
			checks, err := Preflight(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]Verdict{}
			for _, c := range checks {
				key := c.Name
				if c.Arm != "" {
					key = c.Arm + " " + c.Name
				}
				got[key] = c.Verdict
				if c.Found == "" || c.Verdict != CheckOK && c.Fix == "" {
					t.Errorf("a finding without its fix: %+v", c)
				}
			}
			for key, want := range test.want {
				if got[key] != want {
					t.Errorf("%s: %q, want %q; all: %v", key, got[key], want, maps.All(got))
				}
			}
			if n := len(completions(engine)); n != 0 {
				t.Errorf("%d chat requests were sent", n)
			}
		})
	}
}
