package report

import "strings"

func (r *renderer) resources() resourcesView {
	v := resourcesView{GPU: r.gpu(), Host: r.host(), Cgroup: r.cgroup(), Gauges: r.gauges()}
	v.Energy, v.NoEnergy = r.energy()
	return v
}

// gpu is one row for each GPU of each arm; every figure is one of the readings, and
// says when it has fewer of them than there are.
func (r *renderer) gpu() string {
	g := r.b.result("gpu")
	t := newTable("Arm", "GPU", "Read by", "Readings>", "Memory used max>", "Memory free min>", "Memory total>",
		"Time with a kernel running, p50 / max>", "Board power max>", "SM clock p50>", "Temperature max>", "Readings with reduced clocks>")
	for i := range g.rows {
		arm, gpu := g.text(i, "arm"), g.text(i, "gpu")
		at := func(quantity, column string) string {
			return r.gpuFigure(t, arm, gpu, quantity, column, r.b.quote("gpu", i, "why_without"))
		}
		t.add(given(literal(arm)), given(literal(strings.TrimSpace(gpu+" "+g.text(i, "gpu_name")))), r.gpuSource(t, i), r.b.claim("gpu", i, "samples"),
			at("memory_used_bytes", "max"), at("memory_free_bytes", "min"), at("memory_total_bytes", "max"),
			at("utilization_percent", "p50")+" / "+at("utilization_percent", "max"), at("power_mw", "max"), at("sm_clock_mhz", "p50"),
			at("temperature_c", "max"), r.ofReadings(at("clocks_reduced", "total"), arm, gpu))
	}
	return orNone(t, "No GPU was read.")
}

// gpuSource names the interface, the way the memory was asked for, and the driver.
func (r *renderer) gpuSource(t *table, row int) string {
	if r.b.result("gpu").text(row, "gpu_source") == "" {
		return t.dash(r.b.quote("gpu", row, "why_without"))
	}
	var parts []string
	for _, column := range []string{"gpu_source", "memory_api", "driver_version"} {
		if text := r.b.result("gpu").text(row, column); text != "" {
			parts = append(parts, map[string]string{"memory_api": "memory ", "driver_version": "driver "}[column]+r.b.quote("gpu", row, column))
		}
	}
	return strings.Join(parts, ", ")
}

// gpuFigure is a figure of a quantity, or a dash with the reason. One that rests on
// fewer readings than were taken has a note with their number.
func (r *renderer) gpuFigure(t *table, arm, gpu, quantity, column, otherwise string) string {
	rows := r.b.result("gpu_figures").find("arm", arm, "gpu", gpu, "quantity", quantity)
	if len(rows) == 0 {
		if otherwise == "" {
			otherwise = "not read during a cell"
		}
		return t.dash(otherwise)
	}
	reason := r.b.quote("gpu_figures", rows[0], "reason")
	text := r.b.or(t, "gpu_figures", rows[0], column, reason)
	if without, _ := r.b.result("gpu_figures").whole(rows[0], "without"); without > 0 && r.b.has("gpu_figures", rows[0], column) {
		text += " " + t.note(r.b.claim("gpu_figures", rows[0], "n")+" readings have a value, "+r.b.claim("gpu_figures", rows[0], "without")+" have none: "+reason)
	}
	return text
}

// ofReadings adds to a number of readings that have reduced clocks how many say
// whether they have.
func (r *renderer) ofReadings(total, arm, gpu string) string {
	rows := r.b.result("gpu_figures").find("arm", arm, "gpu", gpu, "quantity", "clocks_reduced")
	if len(rows) == 0 || !r.b.has("gpu_figures", rows[0], "total") {
		return total
	}
	return total + " of " + r.b.claim("gpu_figures", rows[0], "n")
}

// energy lists the cells that have one, and says why the others have none.
func (r *renderer) energy() (table, without string) {
	e := r.b.result("energy")
	t := newTable("Cell", "GPUs>", "Readings of a counter, fewest>", "Energy>", "Between two readings>", "Requests' window>", "Of it between the readings>")
	for i := range e.rows {
		if !r.b.has("energy", i, "energy_mj") {
			continue
		}
		at := func(column string) string { return r.b.or(t, "energy", i, column, r.b.quote("energy", i, "reason")) }
		t.add(given(code(e.text(i, "cell"))), at("gpus"), at("readings"), at("energy_mj"), at("span_ns"), at("window_ns"), at("covered_share"))
	}
	w := r.b.result("energy_without")
	none := newTable("Arm", "Cells without an energy>", "Why")
	for i := range w.rows {
		none.add(given(literal(w.text(i, "arm"))), r.b.claim("energy_without", i, "cells"), r.b.quote("energy_without", i, "reason"))
	}
	return t.String(), none.String()
}

func (r *renderer) host() string {
	h := r.b.result("host")
	t := newTable("Arm", "Readings>", "Memory available min>", "Memory total>", "Load, highest>", "Client memory max>")
	for i := range h.rows {
		at := func(column, why string) string {
			reason := r.b.quote("host", i, why)
			if reason == "" {
				reason = r.b.quote("host", i, "why_without")
			}
			return r.b.or(t, "host", i, column, reason)
		}
		t.add(given(literal(h.text(i, "arm"))), r.b.claim("host", i, "samples"), at("mem_available_min_bytes", "why_no_mem_available"),
			at("mem_total_bytes", "why_no_mem_total"), at("load_1m_max", "why_no_load"), at("client_rss_max_bytes", "why_without"))
	}
	return orNone(t, "The host was not read.")
}

func (r *renderer) cgroup() string {
	c := r.b.result("cgroup")
	t := newTable("Arm", "Version>", "Readings>", "Memory in use, page cache included, max>", "Anonymous max>", "Page cache max>", "Page cache not used lately, max>",
		"Peak since the group was made, first / last reading>", "Limit>")
	for i := range c.rows {
		reason := r.b.quote("cgroup", i, "why_without")
		or := func(column, other string) string {
			why := r.b.quote("cgroup", i, other)
			if n, _ := c.whole(i, "samples"); n == 0 {
				why = reason
			} else if why == "" {
				why = "the kernel or the group does not give it"
			}
			return r.b.or(t, "cgroup", i, column, why)
		}
		at := func(column string) string { return or(column, "why_without") }
		t.add(given(literal(c.text(i, "arm"))), at("cgroup_version"), at("samples"), at("memory_current_max_bytes"), at("anon_max_bytes"), at("file_max_bytes"),
			at("inactive_file_max_bytes"), or("peak_first_bytes", "why_no_peak")+" / "+or("peak_last_bytes", "why_no_peak"), or("memory_limit_bytes", "why_no_limit"))
	}
	return orNone(t, "The engine's control group was not read.")
}

// oom says what the counters of memory kills say, and where they say nothing.
func (r *renderer) oom() string {
	o := r.b.result("oom")
	t := newTable("Arm", "Where", "Counter", "Attempts read>", "Added>", "Attempts in which it rose>", "Attempts without a value>", "Why")
	for i := range o.rows {
		at := func(column string) string { return r.b.or(t, "oom", i, column, r.b.quote("oom", i, "reason")) }
		t.add(given(literal(o.text(i, "arm"))), literal(o.text(i, "source")), code(o.text(i, "counter")), at("attempts"), at("added"),
			at("attempts_with"), at("without"), r.b.quote("oom", i, "reason"))
	}
	return orNone(t, "No counter of memory kills was read.")
}
