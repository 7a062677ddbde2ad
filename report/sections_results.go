package report

import (
	"fmt"
	"slices"
	"strings"
)

// results makes two tables for each workload: times beside real prompt lengths,
// and lengths beside rates. Both arms of a matched cell stand one under the other.
func (r *renderer) results() []resultView {
	var out []resultView
	for _, w := range r.workloads() {
		out = append(out, r.workload(w))
	}
	return out
}

func (r *renderer) workload(w string) resultView {
	v := resultView{Name: given(heading(w))}
	times := newTable("Context label>", "Requested / observed concurrency", "Arm", "n>", "Prompt tokens min / p50 / max", "TTFO p50 (interval)", "TTFO p95", "TTFT p50", "E2E p50 (interval)", "E2E p95")
	rates := newTable("Context label>", "Requested / observed concurrency", "Arm", "n>", "Completion tokens min / p50 / max", "Decode p50, tok/s>", "E2E p50>", "TPOT p50>", "Effective prefill p50, tok/s>", "Throughput, tok/s>", "Mean overlap>")
	cells := r.b.result("cells")
	for _, i := range r.matched(w) {
		arm, cell := cells.text(i, "arm"), cells.text(i, "cell")
		context, _ := cells.whole(i, "context_tokens")
		start := []string{label(context), r.concurrencyCell(i), given(literal(arm))}
		times.add(append(slices.Clone(start), r.metric(times, arm, cell, "e2e_ns", "n"),
			r.span(times, arm, cell, "prompt_tokens"),
			r.interval(times, arm, cell, "ttfo_ns"), r.p95(times, arm, cell, "ttfo_ns"), r.metric(times, arm, cell, "ttft_ns", "p50"),
			r.interval(times, arm, cell, "e2e_ns"), r.p95(times, arm, cell, "e2e_ns"))...)
		rates.add(append(slices.Clone(start), r.metric(rates, arm, cell, "e2e_ns", "n"),
			r.span(rates, arm, cell, "completion_tokens"),
			r.withN(rates, arm, cell, "decode_tok_s"), r.metric(rates, arm, cell, "e2e_ns", "p50"),
			r.withN(rates, arm, cell, "tpot_ns"), r.withN(rates, arm, cell, "effective_prefill_tok_s"),
			r.overlapValue(rates, arm, cell, "throughput_tok_s"), r.overlapValue(rates, arm, cell, "mean_overlap"))...)
	}
	v.Absent = r.absent(w)
	v.Latency, v.Output, v.Gaps = times.String(), rates.String(), r.gaps(w)
	return v
}

// absent names the cells of a workload that have no row in its tables.
func (r *renderer) absent(workload string) string {
	cells := r.b.result("cells")
	var names []string
	for _, i := range cells.find("workload", workload, "eligibility", "ineligible") {
		names = append(names, given(code(cells.text(i, "cell"))))
	}
	return strings.Join(names, ", ")
}

// gaps shows the time between output events. It is no time between tokens: how
// many tokens one event carries stands beside it.
func (r *renderer) gaps(workload string) string {
	g, cells := r.b.result("gaps"), r.b.result("cells")
	t := newTable("Context label>", "Requested / observed concurrency", "Arm", "n>", "Gap, median of medians>", "Longest gap>", "Gaps>", "Tokens per event>", "Gaps inside one read>")
	for _, i := range r.matched(workload) {
		context, _ := cells.whole(i, "context_tokens")
		for _, k := range g.find("cell", cells.text(i, "cell")) {
			at := func(column, reason string) string { return r.b.or(t, "gaps", k, column, reason) }
			none := "withheld, or fewer than two output events"
			t.add(label(context), r.concurrencyCell(i), given(literal(cells.text(i, "arm"))), at("n", ""), at("gap_p50_ns", none), at("gap_max_ns", none),
				at("gaps", ""), at("tokens_per_event", "no usage"), at("same_read_share", "no gap"))
		}
	}
	return t.String()
}

func heading(s string) string {
	s = literal(strings.ReplaceAll(s, "-", " "))
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// matched returns the rows of a workload's eligible cells, arms side by side.
func (r *renderer) matched(workload string) []int {
	cells := r.b.result("cells")
	rows := cells.find("workload", workload, "eligibility", "eligible")
	arms := r.armOrder()
	slices.SortStableFunc(rows, func(a, b int) int {
		for _, column := range []string{"context_tokens", "concurrency", "seed"} {
			x, _ := cells.whole(a, column)
			y, _ := cells.whole(b, column)
			if x != y {
				return int(min(max(x-y, -1), 1))
			}
		}
		return slices.Index(arms, cells.text(a, "arm")) - slices.Index(arms, cells.text(b, "arm"))
	})
	return rows
}

// concurrencyCell prints the planned concurrency, and the measured one beside it.
func (r *renderer) concurrencyCell(cellRow int) string {
	cells, overlap := r.b.result("cells"), r.b.result("overlap")
	asked, _ := cells.whole(cellRow, "concurrency")
	for _, i := range overlap.find("arm", cells.text(cellRow, "arm"), "cell", cells.text(cellRow, "cell")) {
		if r.b.has("overlap", i, "generating_overlap") {
			return label(asked) + " / " + r.b.claim("overlap", i, "generating_overlap")
		}
	}
	return label(asked) + " / " + missing
}

func (r *renderer) span(t *table, arm, cell, metric string) string {
	low := r.metric(t, arm, cell, metric, "min")
	if strings.HasPrefix(low, missing) {
		return low
	}
	return low + " / " + r.metric(t, arm, cell, metric, "p50") + " / " + r.metric(t, arm, cell, metric, "max")
}

// interval prints a median with its order-statistic interval, when n allows one.
func (r *renderer) interval(t *table, arm, cell, metric string) string {
	text := r.metric(t, arm, cell, metric, "p50")
	d := r.b.result("distributions")
	for _, i := range d.find("arm", arm, "cell", cell, "metric", metric) {
		if r.b.has("distributions", i, "p50_low") && r.b.has("distributions", i, "p50_high") {
			text += " (" + r.b.claim("distributions", i, "p50_low") + " to " + r.b.claim("distributions", i, "p50_high") + ")"
		}
		text += r.ownN(i, arm, cell) + r.spoiled(t, i)
	}
	return text
}

// spoiled refers to the reason beside a number from which values are missing, or
// which comparisons leave out.
func (r *renderer) spoiled(t *table, row int) string {
	d := r.b.result("distributions")
	note := d.text(row, "note")
	if !r.b.has("distributions", row, "p50") || !(strings.Contains(note, "withheld: ") || strings.Contains(note, "without a value") || strings.Contains(note, "cache_assisted: ")) {
		return ""
	}
	return " " + t.note(r.b.quote("distributions", row, "note"))
}

// p95 marks a p95 that is no more than the largest value.
func (r *renderer) p95(t *table, arm, cell, metric string) string {
	text := r.metric(t, arm, cell, metric, "p95")
	d := r.b.result("distributions")
	for _, i := range d.find("arm", arm, "cell", cell, "metric", metric) {
		if n, ok := d.whole(i, "n"); ok && n < 20 && r.b.has("distributions", i, "p95") {
			text += " = max"
		}
	}
	return text
}

// withN prints a median, with its own n where that is not the row's.
func (r *renderer) withN(t *table, arm, cell, metric string) string {
	text := r.metric(t, arm, cell, metric, "p50")
	for _, i := range r.b.result("distributions").find("arm", arm, "cell", cell, "metric", metric) {
		if r.b.has("distributions", i, "p50") {
			text += r.ownN(i, arm, cell) + r.spoiled(t, i)
		}
	}
	return text
}

func (r *renderer) ownN(row int, arm, cell string) string {
	d := r.b.result("distributions")
	for _, i := range d.find("arm", arm, "cell", cell, "metric", "e2e_ns") {
		if d.value(i, "n") != d.value(row, "n") {
			return ", n " + r.b.claim("distributions", row, "n")
		}
	}
	return ""
}

func (r *renderer) overlapValue(t *table, arm, cell, column string) string {
	overlap := r.b.result("overlap")
	for _, i := range overlap.find("arm", arm, "cell", cell) {
		return r.b.or(t, "overlap", i, column, r.b.quote("overlap", i, "throughput_note"))
	}
	return t.dash("the cell has no measured interval")
}

// comparisonTitles names the metrics of a comparison for a reader.
var comparisonTitles = map[string]string{
	"ttfo_ns": "TTFO", "ttft_ns": "TTFT", "e2e_ns": "E2E", "decode_tok_s": "Decode, tok/s", "tpot_ns": "TPOT",
	"effective_prefill_tok_s": "Effective prefill, tok/s", "prompt_tokens": "Prompt tokens", "completion_tokens": "Completion tokens",
	"reasoning_tokens": "Reasoning tokens", "gap_p50_ns": "Median gap between chunks", "throughput_tok_s": "Throughput, tok/s",
}

func metricTitle(metric string) string {
	if title, ok := comparisonTitles[metric]; ok {
		return title
	}
	return literal(metric)
}

func (r *renderer) comparisons() comparisonsView {
	pairs := r.b.result("pairs")
	if len(pairs.rows) == 0 {
		return comparisonsView{Summary: "The plan has no matched cells of two arms, so there is nothing to compare."}
	}
	v := comparisonsView{Summary: r.comparablePairs() + " pairs can be compared. No ratio is given for the others, and nothing is normalised. " + r.repeatSentence()}
	t := newTable("Workload", "Context label>", "Concurrency>", "Comparable", "Reasons why not")
	for i := range pairs.rows {
		context, _ := pairs.whole(i, "context_tokens")
		concurrency, _ := pairs.whole(i, "concurrency")
		answer := "no"
		if pairs.flag(i, "comparable") {
			answer = "yes"
		}
		t.add(given(literal(pairs.text(i, "workload"))), label(context), label(concurrency), answer, r.reasons(i))
	}
	v.Pairs = t.String()
	comparisons := r.b.result("comparisons")
	for _, metric := range metricsOf(comparisons) {
		t := newTable("Pair", "Pairs of requests>", "Baseline p50 (n)>", "Candidate p50 (n)>", "Difference of medians>", "Medians between repeats: baseline; candidate", "Ratio min / p50 / max", "Note")
		for _, i := range comparisons.find("metric", metric) {
			at := func(column string) string {
				return r.b.or(t, "comparisons", i, column, r.b.quote("comparisons", i, "note"))
			}
			t.add(r.pairName(comparisons.text(i, "pair")), at("pairs"), at("baseline_p50")+" ("+at("baseline_n")+")",
				at("candidate_p50")+" ("+at("candidate_n")+")", at("median_difference"), r.repeats(i),
				at("ratio_min")+" / "+at("ratio_p50")+" / "+at("ratio_max"), r.b.quote("comparisons", i, "note"))
		}
		v.Tables = append(v.Tables, named{metricTitle(metric), t.String()})
	}
	return v
}

// repeatSentence says which repeats of the campaign there are.
func (r *renderer) repeatSentence() string {
	c := r.b.result("campaign_repeats")
	if len(c.rows) == 0 {
		return "This campaign has no repeat, so nothing says by how much a difference would change if it were run again."
	}
	var names []string
	for i := range c.rows {
		names = append(names, given(code(c.text(i, "repeat")))+" ("+r.b.claim("campaign_repeats", i, "cells_compared")+" of "+r.b.claim("campaign_repeats", i, "cells")+" cells with a median)")
	}
	return "Beside each difference stands the spread of both medians over this campaign and its repeats: " + strings.Join(names, ", ") + "."
}

// repeats prints the spread of the two medians over the campaign and its repeats.
func (r *renderer) repeats(row int) string {
	const name = "comparisons"
	side := func(arm string) string {
		if !r.b.has(name, row, arm+"_p50_min") {
			return missing
		}
		return r.b.claim(name, row, arm+"_p50_min") + " to " + r.b.claim(name, row, arm+"_p50_max") + ", n " + r.b.claim(name, row, arm+"_repeats")
	}
	note := r.b.quote(name, row, "repeat_note")
	if !r.b.has(name, row, "baseline_p50_min") && !r.b.has(name, row, "candidate_p50_min") {
		return note
	}
	text := side("baseline") + "; " + side("candidate")
	if note != "" {
		text += " (" + note + ")"
	}
	return text
}

// pairName names a pair by what its cells have in common.
func (r *renderer) pairName(pair string) string {
	pairs := r.b.result("pairs")
	for _, i := range pairs.find("pair", pair) {
		context, _ := pairs.whole(i, "context_tokens")
		concurrency, _ := pairs.whole(i, "concurrency")
		return given(literal(fmt.Sprintf("%s, %s, C%d", pairs.text(i, "workload"), formatValue(context, ""), concurrency)))
	}
	return given(code(pair))
}

// reasons prints why a pair cannot be compared: a list in the evidence, a
// sentence here.
func (r *renderer) reasons(row int) string {
	pairs := r.b.result("pairs")
	if len(jsonList(pairs.text(row, "reasons"))) == 0 {
		return ""
	}
	return r.b.quote("pairs", row, "why")
}

// metricsOf lists the metrics of a result that the narrative compares, in the
// order of the definitions; tables/comparisons.csv has them all.
func metricsOf(res *result) []string {
	order := []string{"ttfo_ns", "ttft_ns", "e2e_ns", "decode_tok_s", "tpot_ns", "effective_prefill_tok_s", "throughput_tok_s", "completion_tokens"}
	var found []string
	for i := range res.rows {
		if m := res.text(i, "metric"); slices.Contains(order, m) && !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return found
}

// sensitivity shows the passing requests of cells that are not eligible.
func (r *renderer) sensitivity() string {
	s := r.b.result("sensitivity")
	t := newTable("Cell", "Metric", "k of n", "min>", "p50>", "max>")
	for i := range s.rows {
		metric := s.text(i, "metric")
		if n, _ := s.whole(i, "n"); n == 0 || !slices.Contains([]string{"ttfo_ns", "ttft_ns", "e2e_ns", "decode_tok_s", "completion_tokens"}, metric) {
			continue
		}
		at := func(column string) string {
			return r.b.or(t, "sensitivity", i, column, r.b.quote("sensitivity", i, "note"))
		}
		t.add(given(code(s.text(i, "cell"))), metricTitle(metric), at("n")+" of "+at("planned"), at("min"), at("p50"), at("max"))
	}
	return t.String()
}
