package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/report/bundle"
)

// restorationView is the section on smoke checks and restoration.
type restorationView struct {
	Smoke    string // table, or empty
	Sentence string
	Checks   string // table
	Unmet    []string
}

// restorationChecks are the checks after a restoration in the order in which
// they are made, which is that of the plan's postconditions, and what each looks
// at.
var restorationChecks = []struct{ name, words string }{
	{"candidate_absent", "no other arm answers"},
	{"same_container", "the same container and image"},
	{"health_and_identity", "healthy, and the same identity"},
	{"direct_and_primary_requests", "requests are answered, directly and over the primary alias"},
	{"primary_readmitted", "the primary alias is listed"},
	{"files_unchanged", "the named files have their digests"},
}

// restorationState says how the restoration of the earlier service ended.
type restorationState string

const (
	notRecorded restorationState = "not recorded" // no lifecycle was given: the operator's own work
	notEnded    restorationState = "not ended"    // the host was changed, and no later entry says that it was restored
	notRestored restorationState = "not restored" // a check failed or was not made
	restored    restorationState = "restored"
)

// restorationResult is how the last restoration ended: the checks that failed,
// those that could not be judged, and those without an entry.
type restorationResult struct {
	state                     restorationState
	failed, undecided, unmade []string
}

// wrong reports whether the earlier service is not known to be back although it
// was replaced.
func (x restorationResult) wrong() bool { return x.state == notRestored || x.state == notEnded }

// lastRestoration judges the last restoration; of several it is the one that counts.
func (r *renderer) lastRestoration() restorationResult {
	checks := r.b.result("restoration")
	owed := len(r.b.result("problems").find("code", "not_restored")) > 0
	seen := map[string]string{}
	for _, i := range checks.find("counts", true) {
		seen[checks.text(i, "name")] = checks.text(i, "outcome")
	}
	var x restorationResult
	for _, c := range restorationChecks {
		switch seen[c.name] {
		case "pass":
		case "not_evaluable":
			x.undecided = append(x.undecided, c.name)
		case "":
			x.unmade = append(x.unmade, c.name)
		default:
			x.failed = append(x.failed, c.name)
		}
	}
	switch {
	case len(seen) == 0 && owed:
		x.state = notEnded
	case len(seen) == 0:
		x.state = notRecorded
	case len(x.failed) > 0 || len(x.unmade) > 0 || owed:
		x.state = notRestored
	default:
		x.state = restored
	}
	return x
}

// restorationSentence says in one sentence what is restored and what is not.
func (r *renderer) restorationSentence() string {
	x := r.lastRestoration()
	switch x.state {
	case notRecorded:
		if r.kind == bundle.KindSimulated {
			return "The simulated engines replaced no service, so there was nothing to restore."
		}
		return "The run had no lifecycle file, so the restoration of the earlier service was the operator's own work. Nothing here says that it was done, or how it ended."
	case notEnded:
		return "**Not restored, as far as is known:** the host was changed, and the run has no later entry that says it was brought back."
	case notRestored:
		text := "**The earlier service is not restored:** "
		var parts []string
		for _, p := range []struct {
			what  string
			names []string
		}{{"failed", x.failed}, {"not made", x.unmade}, {"could not be judged", x.undecided}} {
			if len(p.names) > 0 {
				parts = append(parts, p.what+": "+codes(p.names))
			}
		}
		if len(parts) == 0 {
			parts = []string{"the run does not say that it ended"}
		}
		return text + strings.Join(parts, "; ") + "."
	}
	if len(x.undecided) > 0 {
		return "The earlier service was restored as far as it was checked: no check failed. Could not be judged: " + codes(x.undecided) + "."
	}
	return "The earlier service was restored: every check passed."
}

func codes(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = code(n)
	}
	return strings.Join(out, ", ")
}

func (r *renderer) restorationSection() restorationView {
	v := restorationView{Smoke: r.smoke(), Sentence: r.restorationSentence()}
	checks := r.b.result("restoration")
	rows := checks.find("counts", true)
	slices.SortStableFunc(rows, func(a, b int) int {
		return cmp.Compare(outcomeOrder(checks.text(a, "outcome")), outcomeOrder(checks.text(b, "outcome")))
	})
	t := newTable("Check", "Outcome", "What was seen", "The plan's postcondition", "When")
	for _, i := range rows {
		at, _ := checks.whole(i, "at_unix_ns")
		place, _ := checks.whole(i, "place")
		t.add(code(checks.text(i, "name")), outcomeWords(checks.text(i, "outcome")), r.b.quote("restoration", i, "detail"),
			r.postcondition(int(place)-1, t), given(instant(at)))
	}
	v.Checks = t.String()
	for i := range r.plan.Restoration.Postconditions {
		if len(rows) == 0 || i >= len(restorationChecks) {
			v.Unmet = append(v.Unmet, given(literal(r.plan.Restoration.Postconditions[i])))
		}
	}
	return v
}

// postcondition is the redacted plan's text for a check.
func (r *renderer) postcondition(place int, t *table) string {
	if place < 0 || place >= len(r.plan.Restoration.Postconditions) {
		return t.dash("the plan has no words for this check")
	}
	return given(literal(r.plan.Restoration.Postconditions[place]))
}

// outcomeOrder puts what failed first.
func outcomeOrder(outcome string) int {
	return slices.Index([]string{"not_evaluable", "pass"}, outcome) // -1, so first, for a failure
}

func outcomeWords(outcome string) string {
	switch outcome {
	case "fail":
		return "**failed**"
	case "not_evaluable":
		return "could not be judged"
	case "pass":
		return "passed"
	}
	return words(outcome)
}

// smoke lists the questions of the smoke check, failed ones first.
func (r *renderer) smoke() string {
	s := r.b.result("smoke")
	t := newTable("Arm", "Question", "Outcome", "Why it failed", "HTTP status>", "Took>")
	for _, failed := range []bool{true, false} {
		for i := range s.rows {
			if (s.text(i, "outcome") != "pass") != failed {
				continue
			}
			t.add(given(code(s.text(i, "arm"))), words(s.text(i, "question")), outcomeWords(s.text(i, "outcome")), r.b.quote("smoke", i, "detail"),
				r.b.or(t, "smoke", i, "http_status", "no answer"), r.b.or(t, "smoke", i, "took_ns", "the exchange has no end"))
		}
	}
	return t.String()
}

// smokeFailures lists the questions that an arm did not answer well.
func (r *renderer) smokeFailures() string {
	s := r.b.result("smoke")
	var out []string
	for i := range s.rows {
		if s.text(i, "outcome") != "pass" {
			out = append(out, given(code(s.text(i, "arm")))+" "+words(s.text(i, "question")))
		}
	}
	return strings.Join(out, ", ")
}

// restorationRole says where the record of the restoration is, or why there is
// none.
func (r *renderer) restorationRole() bundle.Role {
	role := bundle.Role{Role: bundle.RoleRestoration, State: bundle.RoleMissing, Files: []string{}}
	state := r.lastRestoration().state
	switch {
	case state == notRecorded && r.kind == bundle.KindSimulated:
		role.State, role.Reason = bundle.RoleNotApplicable, "the simulated engines replaced no service"
	case state == notRecorded:
		role.Reason = "the run had no lifecycle file, so nothing is claimed about the restoration"
	case state == notEnded:
		role.Reason = "the host was changed, and the run does not say that it was restored"
	default:
		role.State = bundle.RoleRetained
		role.Files = []string{bundle.SubjectName(r.folder, "data/restoration.parquet"), bundle.SubjectName(r.folder, "restoration.json")}
	}
	return role
}

// restorationFile is restoration.json.
type restorationFile struct {
	State          string             `json:"state"`  // restored, not restored, not ended or not recorded
	Reason         string             `json:"reason"` // why there is no record; empty when there is one
	Checks         []restorationCheck `json:"checks"` // of the last restoration, in their order
	Postconditions []string           `json:"postconditions"`
}

type restorationCheck struct {
	Check   string `json:"check"`
	Looks   string `json:"looks_at"`
	Outcome string `json:"outcome"` // pass, fail, not_evaluable or not_made
	Detail  string `json:"detail"`
}

func (r *renderer) restoration() restorationFile {
	state := r.lastRestoration().state
	out := restorationFile{
		State: string(state), Reason: r.restorationRole().Reason, Checks: []restorationCheck{},
		Postconditions: append([]string{}, r.plan.Restoration.Postconditions...),
	}
	if state == notRecorded || state == notEnded {
		return out
	}
	checks := r.b.result("restoration")
	for _, c := range restorationChecks {
		entry := restorationCheck{Check: c.name, Looks: c.words, Outcome: "not_made"}
		for _, i := range checks.find("counts", true, "name", c.name) {
			entry.Outcome, entry.Detail = checks.text(i, "outcome"), checks.text(i, "detail")
		}
		out.Checks = append(out.Checks, entry)
	}
	return out
}

// restorationHeadline is the row of the headline table that stands there only
// when something is wrong.
func (r *renderer) restorationHeadline(t *table) {
	x := r.lastRestoration()
	if !x.wrong() {
		return
	}
	t.add("Earlier service after the campaign", "**not restored**",
		fmt.Sprintf("checks that failed: %s; not made: %s", cmp.Or(codes(x.failed), "none"), cmp.Or(codes(x.unmade), "none")))
}
