package report

import (
	"cmp"
	"slices"
	"strings"
)

// shownHistograms are the histograms the narrative shows, in this order; all are
// in tables/engine_histograms.csv. Tables of all of them would double the
// narrative and bring claims.json near its limit.
var shownHistograms = []string{"queue_seconds", "prefill_seconds", "ttft_arrival_seconds", "decode_seconds", "e2e_seconds"}

// clientBeside are the shown histograms that the client measures too, and what it
// calls them; queue and prefill have no counterpart.
var clientBeside = map[string]string{"ttft_arrival_seconds": "TTFO", "decode_seconds": "last output − first output", "e2e_seconds": "E2E"}

// engine makes one table for each shown histogram that an engine exposes, and one
// of counters.
func (r *renderer) engine() engineView {
	var v engineView
	h := r.b.result("engine_histograms")
	for _, name := range shownHistograms {
		exposed := func(i int) bool { return h.text(i, "series") != "" }
		if !slices.ContainsFunc(h.find("canonical", name), exposed) {
			continue
		}
		v.Histograms = append(v.Histograms, named{"`" + name + "`, from " + given(code(r.sourceOf(h, name))), r.histogram(name)})
	}
	v.Counters, v.Unexposed = r.counters()
	v.Checks = r.engineChecks()
	return v
}

func (r *renderer) histogram(name string) string {
	h := r.b.result("engine_histograms")
	head := []string{"Cell", "n>", "Mean>", "p50 lies in", "p95 lies in"}
	if beside := clientBeside[name]; beside != "" {
		head = append(head, "Client's n>", "Client's mean "+beside+">")
	}
	t := newTable(head...)
	rows := h.find("canonical", name)
	cells := r.b.result("cells")
	place := func(i int) int64 {
		for _, c := range cells.find("cell", h.text(i, "cell")) {
			order, _ := cells.whole(c, "cell_order")
			return order
		}
		return 0
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
	for _, i := range rows {
		reason := r.b.quote("engine_histograms", i, "reason")
		row := []string{given(code(h.text(i, "cell")) + labelText(h.text(i, "labels"))), r.b.or(t, "engine_histograms", i, "n", reason),
			r.b.or(t, "engine_histograms", i, "mean", reason), r.bucket(t, i, "p50", reason), r.bucket(t, i, "p95", reason)}
		if clientBeside[name] != "" {
			row = append(row, r.besideClient(t, h.text(i, "cell"), name)...)
		}
		t.add(row...)
	}
	return t.String()
}

// besideClient is the client's n and mean of the time a histogram holds.
func (r *renderer) besideClient(t *table, cell, canonical string) []string {
	found := r.b.result("beside_client").find("cell", cell, "canonical", canonical)
	if len(found) == 0 {
		none := t.dash("no request of the client has it, or it is withheld")
		return []string{none, none}
	}
	return []string{r.b.claim("beside_client", found[0], "client_n"), r.b.claim("beside_client", found[0], "client_mean")}
}

// counters also lists, for each arm, the counters its engine does not expose.
func (r *renderer) counters() (text string, unexposed []string) {
	c := r.b.result("counters")
	t := newTable("Arm", "Counter", "Sum of deltas>", "Attempts with a delta>", "Without one>", "Why not")
	absent := map[string][]string{}
	for i := range c.rows {
		arm := c.text(i, "arm")
		if strings.HasPrefix(c.text(i, "reason"), "not_exposed") && !r.b.has("counters", i, "delta") {
			absent[arm] = append(absent[arm], "`"+c.text(i, "canonical")+"`")
			continue
		}
		t.add(given(literal(arm)), "`"+c.text(i, "canonical")+"`"+given(labelText(c.text(i, "labels"))),
			r.b.or(t, "counters", i, "delta", r.b.quote("counters", i, "reason")), r.b.claim("counters", i, "deltas"), r.b.claim("counters", i, "without"),
			r.b.quote("counters", i, "reason"))
	}
	for _, arm := range r.armOrder() {
		if len(absent[arm]) > 0 {
			unexposed = append(unexposed, "Not exposed by the engine of "+given(literal(arm))+": "+strings.Join(absent[arm], ", ")+".")
		}
	}
	return t.String(), unexposed
}

// sourceOf lists the names under which a canonical histogram was scraped.
func (r *renderer) sourceOf(h *result, canonical string) string {
	var names []string
	for _, i := range h.find("canonical", canonical) {
		if s := h.text(i, "series"); !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// labelText shows labels that tell rows apart; none and only a model name say
// nothing.
func labelText(labels string) string {
	if labels == "" || labels == "{}" || strings.Count(labels, ":") == 0 {
		return ""
	}
	pairs := strings.Split(strings.Trim(labels, "{}"), ",")
	pairs = slices.DeleteFunc(pairs, func(p string) bool {
		key, value, _ := strings.Cut(p, ":")
		return key == `"model_name"` || key == `"engine"` && value == `"0"`
	})
	if len(pairs) == 0 {
		return ""
	}
	return " " + literal(strings.ReplaceAll(strings.Join(pairs, ", "), `"`, ""))
}

// bucket prints the interval a quantile lies in; the last bucket has no top.
func (r *renderer) bucket(t *table, row int, quantile, reason string) string {
	low, high := quantile+"_low", quantile+"_high"
	h := r.b.result("engine_histograms")
	top, hasTop := h.number(row, high)
	switch {
	case !r.b.has("engine_histograms", row, low) && !hasTop:
		return t.dash(reason)
	case !hasTop || formatValue(top, "") == "∞":
		return "> " + r.b.claim("engine_histograms", row, low)
	case !r.b.has("engine_histograms", row, low):
		return "≤ " + r.b.claim("engine_histograms", row, high)
	}
	return r.b.claim("engine_histograms", row, low) + " to " + r.b.claim("engine_histograms", row, high)
}

func orNone(t *table, otherwise string) string {
	if len(t.rows) == 0 {
		return otherwise + "\n"
	}
	return t.String()
}

// gauges shows the highest sampled values of each cell; each gauge is a column.
func (r *renderer) gauges() string {
	g := r.b.result("engine_gauges")
	shown := []struct{ canonical, title string }{
		{"requests_running", "Running max>"}, {"requests_waiting", "Waiting max>"}, {"kv_usage_ratio", "KV use max>"},
	}
	t := newTable("Cell", "Samples>", shown[0].title, shown[1].title, shown[2].title)
	cells := r.b.result("cells")
	for i := range cells.rows {
		arm, cell := cells.text(i, "arm"), cells.text(i, "cell")
		if len(g.find("arm", arm, "cell", cell)) == 0 {
			continue
		}
		row := []string{given(code(cell))}
		samples := t.dash("the gauge is not exposed")
		var values []string
		for _, s := range shown {
			value := t.dash("the gauge is not exposed")
			for _, k := range g.find("arm", arm, "cell", cell, "canonical", s.canonical) {
				value, samples = r.b.or(t, "engine_gauges", k, "highest", "no page has a number"), r.b.claim("engine_gauges", k, "samples")
				if n, _ := g.whole(k, "not_a_number"); n > 0 {
					value += " (on " + r.b.claim("engine_gauges", k, "not_a_number") + " pages no number)"
				}
			}
			values = append(values, value)
		}
		t.add(append(append(row, samples), values...)...)
	}
	t.notes = usedNotes(t)
	return orNone(t, "No gauge of known meaning was scraped.")
}

// usedNotes drops notes that no cell refers to.
func usedNotes(t *table) []string {
	for _, row := range t.rows {
		for _, cell := range row {
			if strings.HasPrefix(cell, missing+" (") {
				return t.notes
			}
		}
	}
	return nil
}

func (r *renderer) concurrency() concurrencyView {
	c := r.b.result("concurrency")
	t := newTable("Arm", "Claim", "Value>", "Source", "Note")
	for i := range c.rows {
		t.add(given(literal(c.text(i, "arm"))), words(c.text(i, "claim")), r.fact(t, "concurrency", i),
			given(literal(c.text(i, "source"))), r.b.quote("concurrency", i, "note"))
	}
	f := r.b.result("capacity")
	facts := newTable("Arm", "Fact", "Value>", "Source", "Confidence")
	for i := range f.rows {
		facts.add(given(literal(f.text(i, "arm"))), words(f.text(i, "fact")), r.fact(facts, "capacity", i),
			given(literal(f.text(i, "source"))), given(literal(f.text(i, "confidence"))))
	}
	return concurrencyView{orNone(t, "No claim can be made: neither engine nor client gave a fact."), facts.String()}
}

// fact prints a value with its unit.
func (r *renderer) fact(t *table, name string, row int) string {
	if !r.b.has(name, row, "value") {
		return t.dash("not exposed, or not known")
	}
	return r.b.claim(name, row, "value") + unitText(claimUnit(r.b.result(name), row, "value"))
}

// unitText names a unit that the number itself does not show.
func unitText(unit string) string {
	_, isScaled := scales[unit]
	_, isShown := shownUnits[unit]
	if unit == "" || unit == "share" || isScaled || isShown {
		return ""
	}
	return " " + literal(unit)
}
