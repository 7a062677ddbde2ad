package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/report/bundle"
)

// card is the result card at the top of the narrative.
type card struct{ Sentence, Setup, Headline, Why, Caveat string }

func (r *renderer) card() card {
	c := card{
		Sentence: r.verdictSentence() + "; the results hold for these recipes, prompts and lengths, and for nothing else.",
		Setup:    r.setup(), Headline: r.headline(),
		Why:    "a number of a serving campaign is of use only when it can be told which requests stand behind it, at which real lengths, and what did not work. Each one here can be traced to its query and its data.",
		Caveat: "whole recipes are measured, in one order, on one host. A difference between arms has no single cause here, and few requests stand behind each percentile.",
	}
	if r.kind == bundle.KindSimulated {
		c.Sentence = "**SIMULATED.** " + simulatedSentence + " " + c.Sentence
	}
	return c
}

// verdictSentence says how many cells passed; those that did not come first.
func (r *renderer) verdictSentence() string {
	eligible, measured := r.b.claim("tally", 0, "cells_eligible"), r.b.claim("tally", 0, "cells_measured")
	if n, _ := r.b.result("tally").whole(0, "cells_ineligible"); n > 0 {
		return fmt.Sprintf("%s of %s measured cells are not eligible; %s passed every rule of the frozen plan, with %s of %s measured requests",
			r.b.claim("tally", 0, "cells_ineligible"), measured, eligible, r.b.claim("tally", 0, "requests_eligible"), r.b.claim("tally", 0, "requests_measured"))
	}
	return fmt.Sprintf("%s of %s measured cells passed every rule of the frozen plan, with %s of %s measured requests",
		eligible, measured, r.b.claim("tally", 0, "requests_eligible"), r.b.claim("tally", 0, "requests_measured"))
}

func (r *renderer) setup() string {
	t := newTable("Field", "Value")
	arms := r.b.result("arms")
	var models, runtimes, recipes, paths []string
	for i := range arms.rows {
		arm := arms.text(i, "arm")
		name := given(code(arm)) + ": "
		model := r.plan.Models[arm]
		models = append(models, name+modelSource(arms.text(i, "repository"), arms.text(i, "revision"))+", served as "+given(code(arms.text(i, "model"))))
		runtimes = append(runtimes, name+given(code(arms.text(i, "engine")))+" (configured)"+r.observed(arm, "engine_version"))
		recipes = append(recipes, name+given(orNotStated(code(model.Container))))
		where := "on another host"
		if arms.flag(i, "loopback") {
			where = "on the load host"
		}
		paths = append(paths, name+"endpoint "+where)
	}
	hardware := orNotStated("")
	if text, ok := r.plan.Controls.Entries.Get("hardware"); ok {
		hardware = given(literal(text)) + " (configured)"
	}
	t.add("Model", strings.Join(models, "; "))
	t.add("Hardware", hardware+r.observedGPUs())
	t.add("Runtime", strings.Join(runtimes, "; "))
	t.add("Recipe", strings.Join(recipes, "; "))
	t.add("Measurement path", "protocol `assay/v1`, streaming chat completions; "+strings.Join(paths, "; ")+"; warm engine, each prompt starts with its own marker")
	t.add("Contract", r.contract())
	t.add("Evidence", r.evidenceLabel())
	t.add("Decision", "no-promotion")
	return t.String()
}

// modelSource names where a model comes from, as far as the plan states it.
func modelSource(repository, revision string) string {
	switch {
	case repository == "" && revision == "":
		return given(orNotStated(""))
	case repository == "":
		return "revision " + given(code(revision)) + " of a repository that is not stated"
	case revision == "":
		return given(code(repository)) + ", revision not stated"
	}
	return given(code(repository + "@" + revision))
}

// observed prints what an engine says about itself, when it says one thing.
func (r *renderer) observed(arm, fact string) string {
	ids := r.b.result("identities")
	for _, i := range ids.find("arm", arm, "fact", fact) {
		if v := ids.text(i, "value"); v != "" {
			return ", " + given(code(v)) + " (observed)"
		}
	}
	return ""
}

func (r *renderer) observedGPUs() string {
	var names []string
	gpu := r.b.result("gpu")
	for i := range gpu.rows {
		if n := gpu.text(i, "gpu_name"); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "; no GPU was read"
	}
	return "; " + given(literal(strings.Join(names, ", "))) + " (observed)"
}

// contract names what every request asked for, as configured.
func (r *renderer) contract() string {
	var contexts, concurrencies, limits, efforts []string
	once := func(list *[]string, text string) {
		if text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, c := range r.plan.Cells {
		if c.ExcludedWarmup {
			continue
		}
		once(&contexts, formatValue(c.PlannedContextTokens, ""))
		once(&concurrencies, formatValue(c.Concurrency, ""))
		if c.Request.MaxTokens != nil {
			once(&limits, formatValue(*c.Request.MaxTokens, ""))
		}
		if c.Request.ReasoningEffort != nil {
			once(&efforts, *c.Request.ReasoningEffort)
		}
	}
	join := func(list []string) string { return given(literal(strings.Join(list, " · "))) }
	text := "context labels " + join(contexts) + "; concurrency " + join(concurrencies)
	if len(limits) > 0 {
		text += "; output limit " + join(limits) + " tokens"
	}
	if len(efforts) > 0 {
		text += "; reasoning effort " + join(efforts)
	}
	return text
}

// headline is the table of three to six rows; what failed comes first.
func (r *renderer) headline() string {
	t := newTable("Headline measurement", "Local result", "Conditions")
	t.add("Measured cells that are not eligible",
		r.b.claim("tally", 0, "cells_ineligible")+" of "+r.b.claim("tally", 0, "cells_measured"),
		"any rule failed, or not every request was run; "+r.b.claim("tally", 0, "cells_not_run")+" of all cells sent no request")
	r.restorationHeadline(t)
	for _, arm := range first(r.armOrder(), 2) {
		r.deepest(t, arm)
	}
	if len(r.b.result("pairs").rows) > 0 {
		t.add("Pairs that can be compared", r.comparablePairs(), "both cells eligible, same protocol, same real prompt tokens index by index")
	}
	t.add("Largest sample behind a percentile", r.largestSample(), "so no p99 is given anywhere; p95 is the maximum below "+given("20"))
	return t.String()
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// deepest adds the row of the eligible cell with the largest context, and of
// those the one with the most requests in flight.
func (r *renderer) deepest(t *table, arm string) {
	cells := r.b.result("cells")
	rows := cells.find("arm", arm, "eligibility", "eligible")
	name := "Deepest eligible context, " + given(code(arm))
	if len(rows) == 0 {
		t.add(name, missing, "no cell of this arm is eligible")
		return
	}
	deepest := slices.MaxFunc(rows, func(a, b int) int {
		column := func(i int, c string) int64 { n, _ := cells.whole(i, c); return n }
		return cmp.Or(cmp.Compare(column(a, "context_tokens"), column(b, "context_tokens")),
			cmp.Compare(column(a, "concurrency"), column(b, "concurrency")), cmp.Compare(b, a))
	})
	cell := cells.text(deepest, "cell")
	context, _ := cells.whole(deepest, "context_tokens")
	t.add(name,
		"TTFO p50 "+r.metric(nil, arm, cell, "ttfo_ns", "p50")+", E2E p50 "+r.metric(nil, arm, cell, "e2e_ns", "p50"),
		fmt.Sprintf("%s; real prompt p50 %s tokens (label %s), completion p50 %s tokens; %s; n = %s", given(literal(cells.text(deepest, "workload"))),
			r.metric(nil, arm, cell, "prompt_tokens", "p50"), label(context),
			r.metric(nil, arm, cell, "completion_tokens", "p50"), r.concurrencyOf(deepest), r.metric(nil, arm, cell, "ttfo_ns", "n")))
}

// concurrencyOf says what was asked for, and what was observed where it is less.
func (r *renderer) concurrencyOf(cellRow int) string {
	cells, overlap := r.b.result("cells"), r.b.result("overlap")
	asked, _ := cells.whole(cellRow, "concurrency")
	for _, i := range overlap.find("arm", cells.text(cellRow, "arm"), "cell", cells.text(cellRow, "cell")) {
		if k, ok := overlap.whole(i, "generating_overlap"); ok && k >= asked {
			return "concurrency " + label(asked) + ", observed " + r.b.claim("overlap", i, "generating_overlap")
		}
		if r.b.has("overlap", i, "generating_overlap") {
			return "requested " + label(asked) + ", observed " + r.b.claim("overlap", i, "generating_overlap")
		}
	}
	return "requested " + label(asked) + ", overlap not known"
}

// metric prints one statistic of an eligible cell. Without a value it is a dash,
// with the view's own reason when there is a table to put it under.
func (r *renderer) metric(t *table, arm, cell, metric, column string) string {
	d := r.b.result("distributions")
	for _, i := range d.find("arm", arm, "cell", cell, "metric", metric) {
		if t != nil {
			return r.b.or(t, "distributions", i, column, r.b.quote("distributions", i, "note"))
		}
		return r.b.claim("distributions", i, column)
	}
	if t != nil {
		return t.dash("no request of the cell has this value")
	}
	return missing
}

func (r *renderer) comparablePairs() string {
	pairs := r.b.result("pairs_tally")
	if len(pairs.rows) == 0 {
		return missing
	}
	return r.b.claim("pairs_tally", 0, "comparable") + " of " + r.b.claim("pairs_tally", 0, "pairs")
}

func (r *renderer) largestSample() string {
	d := r.b.result("distributions")
	best, at := int64(-1), -1
	for i := range d.rows {
		if n, ok := d.whole(i, "n"); ok && n > best {
			best, at = n, i
		}
	}
	if at < 0 {
		return missing
	}
	return r.b.claim("distributions", at, "n") + " requests"
}

// outcome lists what a reader must know, worst first.
func (r *renderer) outcome() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.kind == bundle.KindSimulated {
		add("SIMULATED. %s", simulatedSentence)
	}
	if r.lastRestoration().wrong() {
		add("%s [Smoke and restoration](#smoke-and-restoration) has the checks.", r.restorationSentence())
	}
	if failed := r.smokeFailures(); failed != "" {
		add("Questions of the smoke check that were not answered well: %s.", failed)
	}
	stops := r.b.result("stops_tally")
	for i := range stops.rows {
		rule := stops.text(i, "rule")
		add("Stop rule %s fired in %s; stops of this rule: %s, cells it blocked: %s.", given(code(rule)), r.stoppedIn(rule),
			r.b.claim("stops_tally", i, "stops"), r.b.claim("stops_tally", i, "cells_blocked"))
	}
	add("%s of %s measured cells are not eligible; %s of all %s cells sent no request.",
		r.b.claim("tally", 0, "cells_ineligible"), r.b.claim("tally", 0, "cells_measured"),
		r.b.claim("tally", 0, "cells_not_run"), r.b.claim("tally", 0, "cells_planned"))
	add("Requests: %s planned, %s dispatched, %s terminal, %s passing, %s eligible.",
		r.b.claim("tally", 0, "requests_planned"), r.b.claim("tally", 0, "requests_dispatched"), r.b.claim("tally", 0, "requests_terminal"),
		r.b.claim("tally", 0, "requests_passing"), r.b.claim("tally", 0, "requests_eligible"))
	if len(r.b.result("pairs").rows) > 0 {
		add("%s pairs of cells can be compared; [Comparisons](#comparisons) has them, and the reasons where one cannot.", r.comparablePairs())
	}
	if len(r.b.result("withheld").rows) > 0 {
		add("Some metrics are withheld; each is listed under [Failures, stops and attempts](#failures-stops-and-attempts) with its reason.")
	}
	if len(r.b.result("problems").rows) > 0 {
		add("Problems were recorded while collecting or loading; they are listed in the same section.")
	}
	if len(stops.rows) == 0 {
		add("No stop rule fired.")
	}
	if len(r.b.result("repeats").rows) > 0 {
		add("%s attempts were made, %s of them second or later ones.", r.b.claim("repeats", 0, "attempts"), r.b.claim("repeats", 0, "repeats"))
	}
	return out
}
