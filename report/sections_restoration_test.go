package report

import (
	"slices"
	"strings"
	"testing"

	"assay/collect/plan"
	"assay/report/bundle"
)

// restorationOf is a renderer with the checks of restorations, each a list of
// NAME=OUTCOME, and the problems that ingest found.
func restorationOf(kind bundle.Kind, owed bool, restorations ...[]string) *renderer {
	checks := &result{query: query{name: "restoration", key: []string{"check_seq"}}, columns: []string{"check_seq", "restoration", "counts", "place", "at_unix_ns", "name", "outcome", "detail"}}
	for n, list := range restorations {
		for i, c := range list {
			name, outcome, _ := strings.Cut(c, "=")
			checks.rows = append(checks.rows, []any{int64(len(checks.rows)), int64(n), n == len(restorations)-1, int64(i + 1), int64(testAnchor), name, outcome, "seen"})
		}
	}
	problems := &result{query: query{name: "problems", key: []string{"code"}}, columns: []string{"code"}}
	if owed {
		problems.rows = append(problems.rows, []any{"not_restored"})
	}
	smoke := &result{query: query{name: "smoke", key: []string{"smoke_seq"}}, columns: []string{"smoke_seq", "arm", "question", "outcome", "detail", "http_status", "took_ns"}}
	p := &plan.Plan{Restoration: plan.Restoration{Postconditions: []string{"first", "second"}}}
	return &renderer{plan: p, pages: pages{kind: kind, folder: "x", b: newBook(map[string]*result{"restoration": checks, "problems": problems, "smoke": smoke})}}
}

func allChecks(outcome string) []string {
	var out []string
	for _, c := range restorationChecks {
		out = append(out, c.name+"="+outcome)
	}
	return out
}

func TestRestorationSaysWhatIsNotRestored(t *testing.T) {
	failed := allChecks("pass")
	failed[5] = "files_unchanged=fail"
	undecided := allChecks("pass")
	undecided[4] = "primary_readmitted=not_evaluable"
	for name, c := range map[string]struct {
		r        *renderer
		state    restorationState
		sentence []string
		role     bundle.RoleState
	}{
		"nothing was replaced":         {restorationOf(bundle.KindMeasured, false), notRecorded, []string{"no lifecycle file", "Nothing here says that it was done"}, bundle.RoleMissing},
		"simulated":                    {restorationOf(bundle.KindSimulated, false), notRecorded, []string{"nothing to restore"}, bundle.RoleNotApplicable},
		"killed before it":             {restorationOf(bundle.KindMeasured, true), notEnded, []string{"Not restored", "no later entry"}, bundle.RoleMissing},
		"every check passed":           {restorationOf(bundle.KindMeasured, false, allChecks("pass")), restored, []string{"every check passed"}, bundle.RoleRetained},
		"one could not be judged":      {restorationOf(bundle.KindMeasured, false, undecided), restored, []string{"as far as it was checked", "`primary_readmitted`"}, bundle.RoleRetained},
		"one failed":                   {restorationOf(bundle.KindMeasured, true, failed), notRestored, []string{"is not restored", "failed: `files_unchanged`"}, bundle.RoleRetained},
		"killed in it":                 {restorationOf(bundle.KindMeasured, true, allChecks("pass")[:2]), notRestored, []string{"not made: `health_and_identity`, `direct_and_primary_requests`"}, bundle.RoleRetained},
		"failed, then again and well":  {restorationOf(bundle.KindMeasured, false, failed, allChecks("pass")), restored, []string{"every check passed"}, bundle.RoleRetained},
		"well, then again and failed":  {restorationOf(bundle.KindMeasured, true, allChecks("pass"), failed), notRestored, []string{"`files_unchanged`"}, bundle.RoleRetained},
		"all passed, and it never end": {restorationOf(bundle.KindMeasured, true, allChecks("pass")), notRestored, []string{"does not say that it ended"}, bundle.RoleRetained},
	} {
		t.Run(name, func(t *testing.T) {
			x := c.r.lastRestoration()
			if x.state != c.state || x.wrong() != (c.state == notRestored || c.state == notEnded) {
				t.Errorf("state %s, want %s", x.state, c.state)
			}
			for _, want := range c.sentence {
				if got := c.r.restorationSentence(); !strings.Contains(got, want) {
					t.Errorf("%q does not say %q", got, want)
				}
			}
			role := c.r.restorationRole()
			if role.State != c.role || (len(role.Files) > 0) != (c.role == bundle.RoleRetained) || (role.Reason == "") != (c.role == bundle.RoleRetained) {
				t.Errorf("role %+v", role)
			}
			table := newTable("a", "b", "c")
			if c.r.restorationHeadline(table); (len(table.rows) == 1) != x.wrong() {
				t.Errorf("%d rows in the headline", len(table.rows))
			}
		})
	}
}

func TestRestorationShowsFailedChecksFirstInThePlansWords(t *testing.T) {
	list := allChecks("pass")
	list[1], list[3] = "same_container=fail", "direct_and_primary_requests=not_evaluable"
	v := restorationOf(bundle.KindMeasured, true, allChecks("fail"), list).restorationSection()
	text := unmark(v.Checks)
	order := []string{"`same_container` | **failed** | seen | second |", "`direct_and_primary_requests` | could not be judged | seen | — (a)", "`candidate_absent` | passed | seen | first |"}
	last := -1
	for _, want := range order {
		at := strings.Index(text, want)
		if at <= last {
			t.Fatalf("%q is missing or out of place in\n%s", want, text)
		}
		last = at
	}
	if n := strings.Count(text, "2026-10-17"); n != len(restorationChecks) {
		t.Errorf("%d checks are shown; only those of the last restoration count", n)
	}
	if !slices.Equal(restorationOf(bundle.KindMeasured, false).restorationSection().Unmet, []string{given("first"), given("second")}) {
		t.Error("postconditions that nothing checked are not listed")
	}
}
