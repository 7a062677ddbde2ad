package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"assay/collect/plan"
	"assay/report/bundle"
)

// view is what the templates see: finished pieces of Markdown. Every measured
// number in it is a claim, every configured value is marked as given.
type view struct {
	Title, ID, Folder, Campaign string
	Date, Scope, Decision       string
	Corrects                    string // link to the finding this one supersedes, or ""
	ContextNote, OldEvidence    string
	Card                        card
	Outcome                     []string
	Config                      configView
	Client, Rules               string
	Eligibility                 eligibilityView
	Results                     []resultView
	Comparisons                 comparisonsView
	Engine                      engineView
	Resources                   resourcesView
	Concurrency                 concurrencyView
	Failures                    failuresView
	Sensitivity, Ledger         string
	Restoration                 restorationView
	Sampling                    samplingView
	Next                        []string
	NonClaims                   []string
	Figures                     figuresView
	Post                        postView
}

// named is a table under a heading or a bold line.
type named struct{ Name, Table string }

type configView struct {
	Campaign, Controls, Identity, Fingerprint string
	Models                                    []named
	Deviations                                []string
}

type eligibilityView struct {
	Summary, Failed, Ended string
	Groups                 []named
}

type resultView struct{ Name, Absent, Latency, Output, Gaps string }

type comparisonsView struct {
	Summary, Pairs string
	Tables         []named
}

type engineView struct {
	Histograms []named
	Counters   string
	Unexposed  []string
	Checks     string // whether the engine's numbers fit together
}

type resourcesView struct{ GPU, Energy, NoEnergy, Host, Cgroup, Gauges string }

type concurrencyView struct{ Claims, Facts string }

type failuresView struct{ Outcomes, Stops, OOM, Attempts, Repeats, Withheld, Problems string }

type samplingView struct{ Table, Thinned, Scrapes, Client string }

// figure is a picture in the narrative.
type figure struct{ Path, Alt, Caption string }

type figuresView struct{ Outcome, Results, Engine, Resources []figure }

func (r *renderer) view(plots []plotFile) view {
	v := view{
		Title: literal(r.title()), ID: r.id, Folder: r.folder, Campaign: given(code(r.plan.CampaignID)),
		Date: given(r.id[:10]), Scope: r.scope(), Decision: r.decision(), Corrects: correctsLine(r.supersedes),
		Card: r.card(), Outcome: r.outcome(), Config: r.config(), Client: r.client(), Rules: rulesTable(r.plan),
		Eligibility: r.eligibility(), Results: r.results(), Comparisons: r.comparisons(), Engine: r.engine(),
		Resources: r.resources(), Concurrency: r.concurrency(), Failures: r.failures(),
		Sensitivity: r.sensitivity(), Ledger: r.ledgerTable(), Sampling: r.sampling(), Next: r.next(),
		NonClaims: nonClaims(r.kind), Figures: r.figures(plots),
	}
	if note, ok := r.plan.Controls.Entries.Get("context_labels"); ok {
		v.ContextNote = given(literal(note))
	}
	if old, ok := r.plan.Publication.Get("old_evidence"); ok {
		v.OldEvidence = oldEvidence(old)
	}
	v.Restoration = r.restorationSection()
	return v
}

// oldEvidence links a finding of the same folder where the plan's text is its file
// name; any other text stands as it is.
func oldEvidence(text string) string {
	id, ok := strings.CutSuffix(path.Base(text), ".md")
	if ok && bundle.CheckID(id) == nil {
		return given("[" + literal(id) + "](" + bundle.NarrativeName(id) + ")")
	}
	return given(literal(text))
}

// title is the finding's name in words; a simulated one says so first.
func (r *renderer) title() string {
	words := strings.ReplaceAll(r.id[len("2006-01-02-"):], "-", " ")
	title := strings.ToUpper(words[:1]) + words[1:]
	if r.kind == bundle.KindSimulated {
		return "SIMULATED: " + title
	}
	return title
}

// simulatedSentence is printed wherever a reader could take a simulated number
// for a measured one.
const simulatedSentence = "The engines are simulated: no number says anything about a model, an engine or a GPU."

func (r *renderer) scope() string {
	var models []string
	arms := r.b.result("arms")
	for i := range arms.rows {
		models = append(models, given(code(arms.text(i, "arm")))+" = "+given(code(cmp.Or(arms.text(i, "repository"), arms.text(i, "model")))))
	}
	text := fmt.Sprintf("campaign %s, %s; %s cells and %s requests planned, %s of the requests in warm-ups",
		given(code(r.plan.CampaignID)), strings.Join(models, ", "),
		r.b.claim("tally", 0, "cells_planned"), r.b.claim("tally", 0, "requests_planned"), r.b.claim("tally", 0, "requests_warmup"))
	if r.kind == bundle.KindSimulated {
		return "SIMULATED " + text + ". " + simulatedSentence
	}
	return text
}

func (r *renderer) decision() string {
	return "no-promotion. Evidence: " + r.evidenceLabel() + ". Promotion is always a separate decision by a person"
}

// evidenceLabel says what the evidence can support (evidence.md section 6).
func (r *renderer) evidenceLabel() string {
	eligible, _ := r.b.result("tally").whole(0, "cells_eligible")
	switch {
	case r.kind == bundle.KindSimulated:
		return "simulated"
	case eligible > 0:
		return "capacity"
	}
	return "compatibility-only"
}

// config prints the plan as configured, and what the engines said.
func (r *renderer) config() configView {
	var v configView
	campaign := newTable("Entry", "Configured")
	entry := func(name, text string) { campaign.add(name, given(text)) }
	entry("campaign", code(r.plan.CampaignID))
	entry("plan, SHA-256", code(r.lock.CanonicalSHA256))
	entry("plan as published, SHA-256", code(r.lock.RedactedCanonicalSHA256))
	entry("locked at", instant(r.lock.LockedAtUnixNs))
	entry("collector", code(r.lock.CollectorVersion))
	entry("metric profile", code(r.plan.MetricProfile))
	entry("source revision", orNotStated(code(r.plan.SourceRevision)))
	entry("authorization", redacted(r.plan.Authorization))
	entry("owner, as a role", orNotStated(literal(r.plan.Owner)))
	c := r.b.result("campaign")
	for _, clock := range []struct{ name, column string }{
		{"dispatch clock from", "dispatch_unix_ns"}, {"no request from", "cutoff_unix_ns"}, {"deadline", "deadline_unix_ns"},
	} {
		if ns, ok := c.whole(0, clock.column); ok {
			entry(clock.name, instant(ns))
		}
	}
	if c.flag(0, "clock_restarted") {
		entry("dispatch clock", "restarted at the lock, beside the frozen one")
	}
	v.Campaign = campaign.String()
	v.Controls = entriesTable("Control", r.plan.Controls.Entries)
	for _, arm := range r.plan.Arms() {
		v.Models = append(v.Models, named{given(literal(arm)), entriesTable("Entry", r.plan.Models[arm].Entries)})
	}
	for _, d := range jsonList(c.text(0, "deviations")) {
		v.Deviations = append(v.Deviations, given(literal(d)))
	}
	v.Identity, v.Fingerprint = r.identity(), r.fingerprints()
	return v
}

func redacted(authorization string) string {
	if authorization == "" {
		return orNotStated("")
	}
	return "\\[REDACTED\\]"
}

func orNotStated(text string) string {
	if text == "" {
		return "not stated"
	}
	return text
}

func entriesTable(head string, entries plan.Entries) string {
	t := newTable(head, "Configured")
	for _, e := range entries {
		t.add(given(literal(e.Key)), given(literal(e.Text)))
	}
	return t.String()
}

func (r *renderer) identity() string {
	ids := r.b.result("identities")
	t := newTable("Arm", "Fact", "Value", "Readings>", "Source")
	for i := range ids.rows {
		value := given(code(ids.text(i, "value")))
		if ids.text(i, "value") == "" {
			value = t.dash(r.b.quote("identities", i, "reason"))
		}
		t.add(given(code(ids.text(i, "arm"))), literal(ids.text(i, "fact")), value,
			r.b.claim("identities", i, "readings"), given(code(ids.text(i, "source"))))
	}
	return t.String()
}

// jsonList decodes a list of texts; what is no such list is one entry of its own.
func jsonList(text string) []string {
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil && text != "" {
		return []string{text}
	}
	return list
}

func rulesTable(p *plan.Plan) string {
	demanded := p.Rules()
	t := newTable("Rule", "Scope", "Passes when", "Demanded by the plan")
	for _, rule := range plan.Rules {
		text := "no"
		if slices.Contains(demanded, rule.ID) {
			text = "yes"
		}
		t.add("`"+string(rule.ID)+"`", string(rule.Scope), given(literal(rule.Meaning)), text)
	}
	return t.String()
}

// ledgerEntry is one entry of quality-ledger.json.
type ledgerEntry struct {
	Area   string `json:"area"`
	Status string `json:"status"` // not run, fresh, reuse or stated
	Text   string `json:"text"`   // the plan's own
}

// ledger reads the state of each quality entry out of the plan's text: the first
// of the three words that the text holds, in this order.
func (r *renderer) ledger() []ledgerEntry {
	out := []ledgerEntry{}
	for _, e := range r.plan.QualityLedger {
		status := "stated"
		for _, word := range []string{"not run", "fresh", "reuse"} {
			if strings.Contains(e.Text, word) {
				status = word
				break
			}
		}
		out = append(out, ledgerEntry{e.Key, status, e.Text})
	}
	return out
}

func (r *renderer) ledgerTable() string {
	t := newTable("Area", "State", "The plan's text")
	for _, e := range r.ledger() {
		t.add(given(literal(e.Area)), e.Status, given(literal(e.Text)))
	}
	if len(t.rows) == 0 {
		return "The plan has no quality ledger.\n"
	}
	return t.String()
}

// armOrder returns the arms in plan order.
func (r *renderer) armOrder() []string {
	var out []string
	arms := r.b.result("arms")
	for i := range arms.rows {
		out = append(out, arms.text(i, "arm"))
	}
	return out
}

// workloads returns the measured workloads in plan order.
func (r *renderer) workloads() []string {
	var out []string
	cells := r.b.result("cells")
	for i := range cells.rows {
		if w := cells.text(i, "workload"); !cells.flag(i, "excluded_warmup") && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// label writes a configured context or count with separators.
func label(n int64) string { return given(formatValue(n, "")) }
