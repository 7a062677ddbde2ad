package artifact

import "strings"

// A comparison puts the figures of two arms side by side, and a counter file
// the delta of an engine's counters. Neither holds a run.

const anvilMatched = "glm53-apc-matched-comparison/v1"

func isAnvilComparison(first value) (is bool, version string, read bool) {
	return hasSchema(first, anvilMatched)
}

// loadAnvilComparison keeps both arms' figures and recomputes the change of
// each: (candidate / baseline - 1) * 100.
func loadAnvilComparison(d *document, o *output) {
	const candidate, baseline, change = "candidate", "baseline", "candidate_percent_change"
	cells := d.head.get("cells")
	for name, cell := range cells.members() {
		scope := cut(string(name), 100)
		arms := pick(cell, "/cells/"+scope, d.notes, baseline, candidate, change)
		before, after := figures(arms.raw(baseline)), figures(arms.raw(candidate))
		for _, side := range []string{baseline, candidate, change} {
			for key, v := range arms.raw(side).members() {
				metric := cut(string(key), 100)
				f := one(arms.at+"/"+side, metric, v, d.notes)
				s := Stat{
					Artifact: o.id(0), SourceKey: f.at + "/" + metric, Scope: scope + "/" + side, Metric: metric, Stat: "value", Unit: unitOf(metric),
					Value: f.float(metric), Definition: anvilMatched, Agreement: AgreeUnknown, Reason: "its source files are named, not held",
				}
				if side == change {
					s.Stat, s.Unit, s.Reason = "percent_change", "percent", ""
					s.Recomputed = percentChange(after[metric], before[metric])
					s.Agreement = compare(s.Value, s.Recomputed)
					if len(before) == maxFigures {
						s.Agreement, s.Reason = AgreeUnknown, "the comparison has too many figures"
					}
				}
				o.stat(s)
			}
		}
	}
	o.artifact(Artifact{
		Kind: KindComparison, State: stateLoaded, Schema: anvilMatched, Tool: toolAnvil,
		Missing: reasons(map[string]string{"protocol": "figures of several runs; each has its own"}),
	})
}

// maxFigures bounds the figures of one arm that are looked up by name. The real
// file has seven.
const maxFigures = 1000

func figures(v value) map[string]value {
	m := map[string]value{}
	for key, member := range v.members() {
		if len(m) == maxFigures {
			break
		}
		m[string(key)] = member
	}
	return m
}

func percentChange(candidate, baseline value) *float64 {
	c, okC := candidate.number()
	b, okB := baseline.number()
	if !okC || !okB || b == 0 {
		return nil
	}
	return finite((c/b - 1) * 100)
}

// unitOf reads the unit that ends a name of anvil-serving's figures.
func unitOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_ms"):
		return "ms"
	case strings.HasSuffix(name, "_per_second"):
		return "requests/s"
	case strings.Contains(name, "tokens"):
		return "tokens"
	}
	return "unknown"
}

const (
	counterHits    = "prefix_cache_hits_total"
	counterQueries = "prefix_cache_queries_total"
	counterShare   = "hit_fraction"
)

// isAnvilCounters: the file has no schema, but these three members.
func isAnvilCounters(first value) (is bool, version string, read bool) {
	is = first.isObject() && len(first.get("schema")) == 0
	for _, name := range []string{counterHits, counterQueries, counterShare} {
		is = is && len(first.get(name)) > 0
	}
	return is, "", true
}

func loadAnvilCounters(d *document, o *output) {
	f := pick(d.head, "", d.notes, counterHits, counterQueries, counterShare, "before", "after", "isolation")
	hits, queries := f.float(counterHits), f.float(counterQueries)
	delta := func(name, unit string) Stat {
		return Stat{Artifact: o.id(0), SourceKey: name, Scope: "engine", Metric: name, Stat: "delta", Unit: unit, Value: f.float(name),
			Definition: "anvil-serving/counter-delta", Agreement: AgreeUnknown, Reason: "the two metrics pages are named, not held"}
	}
	o.stat(delta(counterHits, "tokens"))
	o.stat(delta(counterQueries, "tokens"))
	share := delta(counterShare, "ratio")
	share.Stat, share.Reason = "share", ""
	if hits != nil && queries != nil && *queries != 0 {
		share.Recomputed = finite(*hits / *queries)
	}
	share.Agreement = compare(share.Value, share.Recomputed)
	o.stat(share)
	o.artifact(Artifact{
		Kind: KindCounters, State: stateLoaded, Tool: toolAnvil,
		Missing: reasons(map[string]string{"protocol": "engine counters, no client measurement"}),
	})
}
