package cases

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"assay/collect/simengine"
)

// faultTrace is what a fault leaves in the database: outcome, finish reasons,
// what is wrong with the usage, the rules that fail, and facts that no rule
// looks at. A busy machine can make a burst of any stream, so that flag is looked
// at where it is meant.
const faultTrace = `SELECT concat_ws(' ', outcome, finish_reasons, usage_fault, reasoning_field, http_version,
		CASE WHEN alias_conflicts > 0 THEN 'conflict' END,
		CASE WHEN leading_white_chars > 0 THEN 'white_first' END,
		CASE WHEN tool_events > 0 THEN 'tool' END,
		CASE WHEN trailing_bytes > 0 THEN 'trailing' END,
		CASE WHEN tail_bytes > 0 THEN 'tail' END,
		CASE WHEN bad_events > 0 THEN 'bad' END,
		CASE WHEN visible_chars > 60000 THEN 'long' END,
		(SELECT string_agg(DISTINCT flag, ' ') FROM request_withholdings w WHERE w.campaign = f.campaign AND w.request_index = f.request_index
			AND (flag <> 'burst_delivery' OR %t)),
		'fails', (SELECT string_agg(rule, ' ' ORDER BY rule) FROM request_verdicts v WHERE v.campaign = f.campaign AND v.request_index = f.request_index AND verdict = 'fail'))
	FROM request_facts f WHERE request_index = %d AND %s`

// faultVerdicts has a row for each stream fault, or several faults of one
// stream. What takes a second of silence, or names an engine fault and so ends
// all dispatch, is in TestTransportCases.
var faultVerdicts = map[string]string{
	"bad_json":                  `protocol ["stop"] reasoning HTTP/1.1 bad fails capture_complete terminal`,
	"bad_utf8":                  `protocol ["stop"] reasoning HTTP/1.1 bad fails capture_complete terminal`,
	"bom":                       `complete ["stop"] reasoning HTTP/1.1 fails`,
	"byte_by_byte":              `complete ["stop"] reasoning HTTP/1.1 fails`,
	"close_late":                `complete ["stop"] reasoning HTTP/1.1 fails`,
	"close_unanswered":          `connection_reset [] absent fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"comments":                  `complete ["stop"] reasoning HTTP/1.1 fails`,
	"cr":                        `complete ["stop"] reasoning HTTP/1.1 fails`,
	"crlf":                      `complete ["stop"] reasoning HTTP/1.1 fails`,
	"crlf_cut":                  `complete ["stop"] reasoning HTTP/1.1 fails`,
	"cut":                       `truncated [] absent reasoning HTTP/1.1 fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"done_blank":                `complete ["stop"] reasoning HTTP/1.1 fails`,
	"done_in_content":           `complete ["stop"] reasoning HTTP/1.1 fails`,
	"dynamo_stream":             `complete ["stop"] reasoning_content HTTP/1.1 fails`,
	"endless_head":              `protocol [] absent fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"endless_line":              `protocol [] absent reasoning HTTP/1.1 tail fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"kv_refusal":                `refused_kv_pool [] absent HTTP/1.1 fails`,
	"extension_before_usage":    `complete ["stop"] reasoning HTTP/1.1 fails`,
	"finish_abort":              `complete ["abort"] reasoning HTTP/1.1 fails finish_allowed`,
	"finish_empty":              `complete [] reasoning HTTP/1.1 fails finish_allowed`,
	"finish_length":             `complete ["length"] reasoning HTTP/1.1 fails finish_allowed`,
	"finish_null":               `complete [] reasoning HTTP/1.1 fails finish_allowed`,
	"foreign_first":             `complete ["stop"] reasoning HTTP/1.1 fails canary_first no_foreign_marker`,
	"foreign_in_reasoning":      `complete ["stop"] reasoning HTTP/1.1 fails no_foreign_marker`,
	"foreign_marker":            `complete ["stop"] reasoning HTTP/1.1 fails no_foreign_marker`,
	"gzip":                      `protocol [] absent HTTP/1.1 fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"http2_preface":             `protocol [] absent fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"http_1_0":                  `complete ["stop"] reasoning HTTP/1.0 fails`,
	"in_band_error_flat":        `in_band_error [] absent reasoning HTTP/1.1 fails canary_first finish_allowed terminal usage_exact visible_output`,
	"in_band_error_named":       `in_band_error [] absent reasoning HTTP/1.1 fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"in_band_error_text":        `in_band_error [] absent reasoning HTTP/1.1 fails canary_first finish_allowed terminal usage_exact visible_output`,
	"interim_answer":            `complete ["stop"] reasoning HTTP/1.1 fails`,
	"joined_events":             `complete ["stop"] reasoning HTTP/1.1 fails`,
	"llamacpp_stream":           `complete ["stop"] reasoning_content HTTP/1.1 fails`,
	"lmdeploy_stream":           `complete ["stop"] reasoning_content HTTP/1.1 fails`,
	"long_line":                 `complete ["stop"] reasoning HTTP/1.1 long fails`,
	"missing_done":              `missing_done ["stop"] reasoning HTTP/1.1 fails terminal`,
	"multi_line_data":           `complete ["stop"] reasoning HTTP/1.1 fails`,
	"no_output":                 `no_output ["length"] HTTP/1.1 fails canary_first finish_allowed visible_output`,
	"no_space":                  `complete ["stop"] reasoning HTTP/1.1 fails`,
	"no_usage":                  `complete ["stop"] absent reasoning HTTP/1.1 fails usage_exact`,
	"one_token":                 `complete ["stop"] HTTP/1.1 fails`,
	"only_done":                 `no_output [] absent HTTP/1.1 fails canary_first finish_allowed usage_exact visible_output`,
	"open_after_done":           `complete ["stop"] reasoning HTTP/1.1 fails`,
	"own_late":                  `complete ["stop"] reasoning HTTP/1.1 fails canary_first`,
	"queue_full_in_band":        `refused_queue_full [] absent HTTP/1.1 fails canary_first finish_allowed terminal usage_exact visible_output`,
	"reasoning_old_name":        `complete ["stop"] reasoning_content HTTP/1.1 fails`,
	"reasoning_only":            `complete ["length"] reasoning HTTP/1.1 fails canary_first finish_allowed visible_output`,
	"reasoning_renamed":         `complete ["stop"] both HTTP/1.1 fails`,
	"reasoning_then_end":        `truncated [] absent reasoning HTTP/1.1 fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"reasoning_twice":           `complete ["stop"] both HTTP/1.1 fails`,
	"reasoning_twice_unequal":   `complete ["stop"] both HTTP/1.1 conflict fails`,
	"refused_in_band":           `refused_context [] absent HTTP/1.1 fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"replacement_character":     `complete ["stop"] reasoning HTTP/1.1 fails`,
	"reset":                     `connection_reset [] absent reasoning HTTP/1.1 fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"reset_unanswered":          `connection_reset [] absent fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"role_bare":                 `complete ["stop"] reasoning HTTP/1.1 fails`,
	"role_everywhere":           `complete ["stop"] reasoning HTTP/1.1 fails`,
	"role_null":                 `complete ["stop"] reasoning HTTP/1.1 fails`,
	"role_only_delay":           `complete ["stop"] reasoning HTTP/1.1 fails`,
	"sglang_stream":             `complete ["stop"] reasoning_content HTTP/1.1 fails`,
	"slow_head":                 `complete ["stop"] reasoning HTTP/1.1 fails`,
	"tensorrt_llm_stream":       `complete ["stop"] reasoning_content HTTP/1.1 fails`,
	"tgi_stream":                `complete ["stop"] HTTP/1.1 fails`,
	"thinks_long slow_events=5": `complete ["stop"] reasoning HTTP/1.1 fails`,
	"thinks_long burst":         `complete ["stop"] reasoning HTTP/1.1 burst_delivery fails`,
	"tokens_per_chunk":          `complete ["stop"] reasoning HTTP/1.1 fails`,
	"tool_calls":                `complete ["tool_calls"] reasoning HTTP/1.1 tool fails canary_first finish_allowed visible_output`,
	"trailing_bytes":            `complete ["stop"] reasoning HTTP/1.1 trailing fails`,
	"truncated":                 `truncated [] absent reasoning HTTP/1.1 fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
	"two_choices":               `complete ["stop"] reasoning HTTP/1.1 fails canary_first`,
	"usage_after_done":          `complete ["stop"] absent reasoning HTTP/1.1 trailing fails usage_exact`,
	"usage_cached":              `complete ["stop"] reasoning HTTP/1.1 cache_assisted fails`,
	"usage_choices_null":        `complete ["stop"] reasoning HTTP/1.1 fails`,
	"usage_falls":               `complete ["stop"] falling reasoning HTTP/1.1 fails usage_exact`,
	"usage_increments":          `complete ["stop"] below_output_events reasoning HTTP/1.1 fails usage_exact`,
	"usage_late":                `complete ["stop"] reasoning HTTP/1.1 fails`,
	"usage_not_integer":         `complete ["stop"] not_integer reasoning HTTP/1.1 fails usage_exact`,
	"usage_null":                `complete ["stop"] reasoning HTTP/1.1 fails`,
	"usage_null_members":        `complete ["stop"] absent reasoning HTTP/1.1 fails usage_exact`,
	"usage_reasoning_beside":    `complete ["stop"] reasoning HTTP/1.1 fails`,
	"usage_reasoning_exceeds":   `complete ["stop"] reasoning_exceeds_completion reasoning HTTP/1.1 fails usage_exact`,
	"usage_running":             `complete ["stop"] reasoning HTTP/1.1 fails`,
	"usage_unterminated":        `truncated ["stop"] absent reasoning HTTP/1.1 tail fails capture_complete terminal usage_exact`,
	"white_space_first":         `complete ["stop"] reasoning HTTP/1.1 white_first fails`,
	"wide_characters":           `complete ["stop"] reasoning HTTP/1.1 fails`,
	"wrong_type":                `protocol [] absent HTTP/1.1 fails canary_first capture_complete finish_allowed terminal usage_exact visible_output`,
}

// TestEveryFaultShowsInTheDatabase plays every fault of a stream through the
// whole pipeline, four requests at a time.
func TestEveryFaultShowsInTheDatabase(t *testing.T) {
	names := slices.Sorted(maps.Keys(faultVerdicts))
	cell := faultCell{name: "faults", requests: len(names), concurrency: 4}
	for i, name := range names {
		for fault := range strings.FieldsSeq(name) {
			cell.faults = append(cell.faults, fmt.Sprintf("%s@index=%d", fault, i))
		}
	}
	c := &faultCampaign{id: "stream-faults", observe: true, cells: []faultCell{cell}}
	early := &faultCampaign{id: "early", whole: []string{"early_answer"}, cells: []faultCell{{name: "early"}}}
	restart := &faultCampaign{id: "restart", observe: true, whole: []string{"restart=1"}, cells: []faultCell{{name: "restart", requests: 2}}}
	d := playFaults(t, c, early, restart)
	for i, name := range names {
		got := d.list(t, fmt.Sprintf(faultTrace, strings.Contains(name, "burst"), i, c.of("faults")))
		expect(t, name, strings.Join(got, " "), faultVerdicts[name])
	}
	d.want(t, "SELECT outcome, http_status FROM request_facts WHERE "+early.of("early"), "refused_unclassified|503")
	d.want(t, "SELECT DISTINCT outcome FROM request_facts WHERE "+restart.of("restart"), "complete")
	d.want(t, "SELECT verdict FROM cell_verdicts WHERE rule = 'identity_stable' AND "+restart.of("restart"), "fail")
	c.onceEach(t, d)
	for _, a := range append(early.arrivals, restart.arrivals...) {
		if a.Proto != "HTTP/1.1" {
			t.Errorf("a request came as %s", a.Proto)
		}
	}
	if n := len(early.arrivals) + len(restart.arrivals); n != 3 {
		t.Errorf("%d requests arrived, 3 were sent", n)
	}
}

// TestEveryFaultIsPlayed holds that no fault is only a name.
func TestEveryFaultIsPlayed(t *testing.T) {
	played := map[string]bool{"early_answer": true, "restart": true}
	note := func(specification string) {
		for fault := range strings.FieldsSeq(specification) {
			name, _, _ := strings.Cut(fault, "@")
			name, _, _ = strings.Cut(name, "=")
			played[name] = true
		}
	}
	for name := range faultVerdicts {
		note(name)
	}
	p := transportPlan(t)
	for _, c := range p.all() {
		for _, s := range c.specifications() {
			note(s)
		}
	}
	for _, kind := range simengine.FaultKinds() {
		if !played[kind.Name] {
			t.Errorf("no test plays the fault %s", kind.Name)
		}
	}
}
