package sanitize

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"assay/collect/private"
)

// allowed lists, for each table of the database that is published, the columns
// that may leave it. The text of a plan is not among them: the redacted plan is
// published as a file of its own. Neither is the digest of a metrics page: the
// raw pages are named by the digest of the file that holds them.
var allowed = map[string]string{
	"campaigns": `campaign kind plan_sha256 redacted_plan_sha256 locked_at_unix_ns collector anchor_unix_ns clock_restarted
		dispatch_unix_ns cutoff_unix_ns deadline_unix_ns deviations settings`,
	"arms": `campaign arm arm_order model engine repository revision endpoint loopback`,
	"cells": `campaign arm cell cell_order workload context_tokens concurrency requests seed excluded_warmup outer_timeout_s
		idle_timeout_s max_tokens max_model_len response_words output_policy reasoning_effort temperature top_p
		prompt_cache_mode request_canaries`,
	"attempts": `campaign arm cell attempt run_state counted start_ns end_ns start_unix_ns end_unix_ns
		drain_before_ns drain_after_ns drain_verified clock_drift_ns`,
	"request_facts": `campaign arm cell attempt request_index dispatched worker marker template_version prompt_sha256 prompt_chars
		t0_ns t0_unix_ns idle_gap_ns dns_ns connect_ns tls_ns wrote_ns first_byte_ns head_ns
		first_event_ns ttfo_ns ttft_ns ttft_nonblank_ns last_output_ns finish_ns usage_ns done_ns close_ns end_ns
		http_status http_version event_stream end_kind end_detail outcome fault_class error_pattern
		events events_seen bad_events output_events reasoning_events content_events tool_events
		kernel_stamped_events raised_stamps output_read_stamped lag_p99_ns
		gaps same_read_gaps short_gaps gap_min_ns gap_p50_ns gap_p95_ns gap_max_ns
		prompt_tokens completion_tokens reasoning_tokens cached_tokens usage_chunks usage_fault
		finish_reasons reasoning_field alias_conflicts visible_chars reasoning_chars visible_sha256 leading_white_chars
		canary_state foreign_markers words_observed words_exact trailing_bytes tail_bytes`,
	"pages":          `campaign arm cell attempt page_seq phase start_ns end_ns start_unix_ns http_status error body_bytes series`,
	"engine_samples": `campaign arm cell attempt page_seq phase at_ns series labels le value declared`,
	"gpu_samples": `campaign arm cell attempt sample_seq phase at_ns status gpu_index gpu gpu_name
		memory_total_bytes memory_used_bytes memory_free_bytes utilization_percent memory_busy_percent power_mw energy_mj
		sm_clock_mhz memory_clock_mhz temperature_c throttle_reasons
		gpu_source driver_version memory_api memory_reserved_bytes power_average_mw power_instant_mw power_limit_mw
		graphics_clock_mhz performance_state pcie_tx_kb_s pcie_rx_kb_s pcie_gen pcie_width pcie_replays
		ecc_corrected_errors ecc_uncorrected_errors compute_processes process_memory_bytes missing`,
	"cgroup_samples": `campaign arm cell attempt sample_seq phase at_ns status memory_current_bytes memory_peak_bytes
		memory_max_bytes anon_bytes file_bytes shmem_bytes oom_events oom_kill_events cpu_usage_us throttled_us
		cgroup_version group_number memory_high_bytes swap_current_bytes swap_max_bytes inactive_file_bytes
		kernel_bytes max_events oom_group_kill_events throttled_periods cpu_quota_us cpu_period_us pids
		memory_pressure_us memory_stalled_us cpu_pressure_us io_pressure_us missing`,
	"host_samples": `campaign arm cell attempt sample_seq phase at_ns status mem_total_bytes mem_available_bytes swap_free_bytes
		load_1m oom_kills client_cpu_ns client_rss_bytes client_goroutines client_gc_pause_ns
		uptime_s load_5m swap_total_bytes major_faults memory_pressure_us memory_stalled_us cpu_pressure_us
		io_pressure_us boot missing`,
	"identities":   `campaign arm cell attempt phase fact value source reason`,
	"engine_facts": `campaign arm cell attempt phase fact value unit source confidence place`,
	"stops":        `campaign stop_seq at_ns at_unix_ns rule arm cell attempt detail blocks`,
	"smoke_checks": `campaign smoke_seq at_ns at_unix_ns arm question outcome detail http_status end_kind took_ns answer_sha256`,
	// The plan's words for a check are taken from the redacted plan instead.
	"restoration_checks": `campaign check_seq at_ns at_unix_ns name outcome detail`,
	"repeat_medians":     `campaign repeat repeat_plan_sha256 repeat_locked_at_unix_ns arm cell metric unit n p50 reason`,
	"problems":           `campaign arm cell attempt stage code source position detail`,
}

// Columns returns the columns of a table that may be published, in the order in
// which they are written; none for a table that may not be published at all.
func Columns(table string) []string { return strings.Fields(allowed[table]) }

// labels lists the labels of an engine's series whose values may be published:
// they say what is counted, not where. The value of any other label, such as one
// a scraper adds, becomes a placeholder, so that series stay apart.
var labels = strings.Fields(`model_name model engine engine_type engine_index finished_reason finish_reason reason quantile position mode status
	priority source type method code stage phase is_streaming waiting_reason lora_name
	dp_rank tp_rank pp_rank ep_rank moe_ep_rank rank worker_rank gpu
	block_size num_gpu_blocks num_cpu_blocks num_gpu_blocks_override gpu_memory_utilization cache_dtype enable_prefix_caching
	kv_cache_size_tokens kv_cache_memory_bytes kv_cache_max_concurrency sliding_window swap_space is_attention_free
	prefix_caching_hash_algo mamba_page_size_padded mamba_cache_dtype mamba_ssm_cache_dtype mamba_block_size mamba_cache_mode
	calculate_kv_scales cpu_kvcache_space_bytes kv_sharing_fast_prefill user_specified_block_size kv_cache_memory_bytes
	kv_offloading_size kv_offloading_backend page_size context_len max_total_num_tokens max_running_requests`)

// settings lists the members of a campaign's settings that may be published.
var settings = strings.Fields("kernel_stamps kernel_stamps_reason lifecycle page_every_ns sample_every_ns smoke")

// Settings returns a campaign's settings, a JSON object, without the members that
// are not on the list, and how many those were. A text that is no object of texts
// is dropped whole.
func Settings(text string) (kept string, dropped int64) {
	var set map[string]string
	if json.Unmarshal([]byte(text), &set) != nil {
		return "{}", 1
	}
	for name := range set {
		if !slices.Contains(settings, name) {
			delete(set, name)
			dropped++
		}
	}
	if dropped == 0 {
		return text, 0
	}
	out, err := json.Marshal(set)
	if err != nil {
		return "{}", dropped
	}
	return string(out), dropped
}

// LabelValue is the class of the value of a label that is not on the list.
const LabelValue Class = "label_value"

// Labels returns a label set, JSON text, as it may be published. A text that is
// no label set is redacted like any other.
func Labels(r *private.Redactor, text string) string {
	var set map[string]string
	if json.Unmarshal([]byte(text), &set) != nil {
		return r.Text(text)
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(set)) { // placeholders are given out in order
		value := set[name]
		want := r.Value(name, value)
		if want == value && value != "" && !slices.Contains(labels, name) && !private.IsPlaceholder(value) {
			want = r.Name("label", LabelValue, value)
		}
		if want != value {
			set[name], changed = want, true
		}
	}
	if !changed {
		return text
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(set) != nil {
		return private.Redacted
	}
	return strings.TrimSuffix(out.String(), "\n")
}
