package plantedtest

import "slices"

// outcomes is the closed list of measurement.md section 6, faultClasses the one
// beside it.
var (
	outcomes = []string{
		"complete", "truncated", "missing_done", "no_output", "in_band_error", "protocol", "refused_context", "refused_kv_pool",
		"refused_queue_full", "refused_rate_limited", "refused_auth", "refused_model", "refused_bad_request", "refused_unclassified", "not_ready",
		"connect_failed", "connection_reset", "idle_timeout", "outer_timeout", "interrupted", "not_dispatched",
	}
	faultClasses = []string{"engine_dead", "gpu_oom", "cuda_fault", "nccl_fault", "gpu_lost", "host_oom", "kv_boot_failure"}
)

// Kinds names everything that a thousand campaigns must have planted at least
// once, sorted: each outcome, fault class and fault, each way in which a cell,
// its engine or its partner can be off, and what must come of it.
func Kinds() []string {
	all := []string{
		"row_lost", "events_lost", "trailing", "second_attempt", "stamps_" + stampKernel, "stamps_" + stampNone, "stamps_" + stampSlow,
		"complete", "partial", "outer_timeout", "blocked_by_stop", "not_run_deadline", "not_run", "eligible", "ineligible", "excluded_warmup",
		"comparable true", "comparable false", "unpaired baseline", "unpaired candidate", "ineligible candidate", "refused candidate",
		"http_version", "template_version", "prompt", "prompt_tokens", "spool_left",
		"clock_step cell noted", "clock_step cell withheld", "client_slow cell noted", "client_slow cell withheld", "overlap_short cell withheld",
		"warm_overlap cell withheld", "foreign_traffic cell engine_means", "foreign_traffic cell token_attribution",
		"burst_delivery 0 withheld", "cache_assisted 0 withheld",
	}
	for _, list := range [][]fault{textFaults, usageFaults, bursts} {
		for _, f := range list {
			all = append(all, f.name)
		}
	}
	for _, f := range finishes {
		all = append(all, f.name)
	}
	for _, e := range endings {
		all = append(all, e.name)
	}
	for _, o := range outcomes {
		all = append(all, "outcome "+o)
	}
	for _, class := range faultClasses {
		all = append(all, "class "+class)
	}
	for _, f := range engineFaults {
		all = append(all, f.name)
	}
	for _, f := range identityFaults {
		all = append(all, f.name)
	}
	for _, d := range apart {
		all = append(all, d.name)
		if d.reason != "" {
			all = append(all, d.reason)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
