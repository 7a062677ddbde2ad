package report

// The parts of a finding that say how far its telemetry can be trusted: whether
// the engine's numbers fit together, who answered, and what the client itself cost.

// engineChecks counts the cells in which each identity of the engine's numbers
// holds; what does not hold stands with what explains it.
func (r *renderer) engineChecks() string {
	c := r.b.result("engine_checks")
	t := newTable("Arm", "Must hold", "Verdict", "Cells>", "One of them")
	for i := range c.rows {
		t.add(given(literal(c.text(i, "arm"))), words(c.text(i, "check_name")), words(c.text(i, "verdict")),
			r.b.claim("engine_checks", i, "cells"), r.b.quote("engine_checks", i, "example"))
	}
	return t.String()
}

// fingerprints shows which engine answered, and every answer that says so.
func (r *renderer) fingerprints() string {
	f := r.b.result("fingerprints")
	t := newTable("Arm", "Fact", "Said", "Readings>", "Source")
	for i := range f.rows {
		t.add(given(literal(f.text(i, "arm"))), words(f.text(i, "fact")), r.b.quote("fingerprints", i, "value"),
			r.b.claim("fingerprints", i, "readings"), given(code(f.text(i, "source"))))
	}
	return t.String()
}

// clientCost shows what the client itself took from the host it shares.
func (r *renderer) clientCost() string {
	c := r.b.result("client_cost")
	t := newTable("Arm", "Attempts>", "Readings>", "CPU, highest share of a core>", "GC pauses, sum>", "Memory max>", "Goroutines max>", "Read lag, largest p99>", "Scrapes left out>", "Other readings left out>")
	for i := range c.rows {
		at := func(column string) string {
			return r.b.or(t, "client_cost", i, column, "not read, or no stamp of the kernel")
		}
		t.add(given(literal(c.text(i, "arm"))), at("attempts"), at("readings"), at("cpu_share"), at("gc_pause_ns"), at("rss_max_bytes"), at("goroutines_max"),
			at("lag_max_ns"), at("pages_dropped"), at("samples_dropped"))
	}
	return t.String()
}

// scrapes shows how the engines' pages were really read.
func (r *renderer) scrapes() string {
	s := r.b.result("page_scrapes")
	t := newTable("Arm", "Scrapes>", "Without a whole page>", "Of these short>", "Interval p50>", "max>", "Took p50>", "max>", "Size min>", "p50>", "max>")
	for i := range s.rows {
		at := func(column string) string {
			return r.b.or(t, "page_scrapes", i, column, "no whole page, or fewer than two scrapes during a cell")
		}
		t.add(given(literal(s.text(i, "arm"))), at("scrapes"), at("failed"), at("short"), at("interval_p50_ns"), at("interval_max_ns"),
			at("took_p50_ns"), at("took_max_ns"), at("size_min_bytes"), at("size_p50_bytes"), at("size_max_bytes"))
	}
	return t.String()
}
