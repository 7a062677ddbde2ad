package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/collect/plan"
	"assay/collect/stream"
	"assay/collect/workload"
)

// partB lists the field cases of part B: transport and refusals. Each has a
// subtest of TestTransportCases that begins with its id.
var partB = strings.Fields("B01 B02 B04 B05 B07 B08 B09 B10 B11 B12 B14 B15 B16 B17 B19")

// transportCampaigns are the campaigns of part B. What a stop rule may act on,
// or what waits for a second, has one of its own, so that they run side by side.
type transportCampaigns struct {
	plain, silent, long, outer, arms, drain, markers, dies, health, faults faultCampaign
	edge                                                                   [2]int64 // limits of the two requests of the edge cell
}

func (p *transportCampaigns) all() []*faultCampaign {
	return []*faultCampaign{&p.plain, &p.silent, &p.long, &p.outer, &p.arms, &p.drain, &p.markers, &p.dies, &p.health, &p.faults}
}

// refusalRows has a row for each fault that refuses: the columns refusalColumns.
var refusalRows = map[string]string{
	"vllm_context_2025":         "refused_context|null|vllm_context_2025|model_length|327680|327681|311297|16384|false",
	"vllm_context_flat":         "refused_context|null|vllm_context_2025|model_length|327680|327681|311297|16384|false",
	"vllm_context_at_least":     "refused_context|null|vllm_context_at_least|model_length|327680|327681|311297|16384|true",
	"vllm_context_passed":       "refused_context|null|vllm_context_passed|model_length|327680|null|311297|16384|false",
	"vllm_max_tokens":           "refused_context|null|vllm_max_tokens_negative|model_length|null|null|null|null|false",
	"no_output":                 "no_output|null|null|null|null|null|null|null|null",
	"sglang_context":            "refused_context|null|sglang_context_input|model_length|40960|null|61709|null|false",
	"sglang_kv_pool":            "refused_kv_pool|null|sglang_kv_pool_input|kv_pool|59862|null|160062|null|false",
	"sglang_equality":           "refused_context|null|sglang_context_total|model_length|40960|40960|24576|16384|false",
	"sglang_queue_full":         "refused_queue_full|null|sglang_queue_full|null|null|null|null|null|null",
	"queue_full_in_band":        "refused_queue_full|null|sglang_queue_full|null|null|null|null|null|null",
	"llamacpp_context":          "refused_context|null|llamacpp_context|model_length|32768|null|40000|null|false",
	"llamacpp_context_500":      "refused_context|null|llamacpp_context|model_length|null|null|null|null|false",
	"llamacpp_context_message":  "refused_context|null|llamacpp_context|model_length|32768|null|40000|null|false",
	"refused_in_band":           "refused_context|null|llamacpp_context|model_length|32768|null|40000|null|false",
	"error_200":                 "refused_context|null|llamacpp_context|model_length|32768|null|40000|null|false",
	"tensorrt_llm_batch_tokens": "refused_context|null|tensorrt_llm_max_num_tokens|batch_tokens|8192|null|9351|null|false",
	"tensorrt_llm_input":        "refused_context|null|tensorrt_llm_max_input|input_length|1|null|200|null|false",
	"tensorrt_llm_sequence":     "refused_context|null|tensorrt_llm_max_seq_len|model_length|2048|null|5056|null|false",
	"tgi_context":               "refused_context|null|tgi_context|model_length|4096|null|3000|2000|false",
	"tgi_overloaded":            "refused_queue_full|null|tgi_queue_full|null|null|null|null|null|null",
	"lmdeploy_context":          "refused_context|null|lmdeploy_context|model_length|8192|null|9000|null|false",
	"dynamo_overload":           "refused_queue_full|null|dynamo_queue_full|null|null|null|null|null|null",
	"unauthorized":              "refused_auth|null|status_401|null|null|null|null|null|null",
	"forbidden":                 "refused_auth|null|status_403|null|null|null|null|null|null",
	"not_found":                 "refused_unclassified|null|null|null|null|null|null|null|null",
	"model_not_found":           "refused_model|null|model_not_found|null|null|null|null|null|null",
	"bad_request":               "refused_bad_request|null|status_422|null|null|null|null|null|null",
	"loading":                   "not_ready|null|not_ready|null|null|null|null|null|null",
	"unknown_error":             "refused_unclassified|null|null|null|null|null|null|null|null",
	"redirect":                  "protocol|null|null|null|null|null|null|null|null",
	"html_answer":               "protocol|null|null|null|null|null|null|null|null",
	"json_answer":               "protocol|null|null|null|null|null|null|null|null",
}

// refusalColumns are the columns of request_facts in those rows.
const refusalColumns = "outcome, fault_class, error_pattern, error_limit_of, error_limit_tokens, error_asked_tokens, error_prompt_tokens, error_output_tokens, error_at_least"

// transportPlan describes all campaigns.
func transportPlan(t *testing.T) *transportCampaigns {
	t.Helper()
	p := &transportCampaigns{}
	refused := faultCell{name: "refused", requests: len(refusalRows)}
	for i, name := range slices.Sorted(maps.Keys(refusalRows)) {
		refused.faults = append(refused.faults, fmt.Sprintf("%s@index=%d", name, i))
	}
	p.plain = faultCampaign{id: "plain", observe: true, cells: []faultCell{
		{name: "edge", requests: 2},
		{name: "retries", requests: 4, faults: []string{"rate_limited@index=0", "overloaded@index=2"}},
		{name: "dead", requests: 7, faults: []string{"close_unanswered@index=1", "reset_unanswered@index=3", "reset=3@index=5"}},
		{name: "auth", requests: 3, faults: []string{"unauthorized"}},
		refused,
		{name: "http", requests: 3, faults: []string{"http_1_0@index=1", "http2_preface@index=2"}},
	}}
	p.edge = p.plain.edgeLimits(t)
	for i, limit := range p.edge {
		p.plain.cells[0].faults = append(p.plain.cells[0].faults, fmt.Sprintf("context_limit=%d@index=%d", limit, i))
	}
	p.silent = faultCampaign{id: "silent", idle: 1, cells: []faultCell{
		{name: "silent", requests: 2, concurrency: 2, faults: []string{"stall=4@index=0", "no_answer@index=1"}},
		{name: "queued", faults: []string{"never_scheduled"}},
		{name: "next"},
	}}
	p.long = faultCampaign{id: "long", idle: 1, cells: []faultCell{
		{name: "long", requests: 2, concurrency: 2, faults: []string{"slow_events=100@index=0", "comments_while_waiting=200@index=1"}},
	}}
	p.outer = faultCampaign{id: "outer", cells: []faultCell{
		{name: "capped", requests: 20, concurrency: 2, outer: 1, faults: []string{"slow_events=15"}},
	}}
	p.arms = faultCampaign{id: "arms", other: "http_1_0", cells: []faultCell{{name: "plain", requests: 2}}}
	p.drain = faultCampaign{id: "drain", idle: 1, cells: []faultCell{{name: "left", faults: []string{"stall=4", "goes_on=800"}}, {name: "next"}}}
	p.markers = faultCampaign{id: "markers", cells: []faultCell{
		{name: "four", requests: 4, concurrency: 4, faults: []string{"foreign_first@index=1", "slow_events=10"}},
		{name: "more", requests: 5, concurrency: 4, faults: []string{"foreign_marker@index=0", "foreign_in_reasoning@index=2", "own_late@index=3", "slow_events=10"}},
	}}
	p.dies = faultCampaign{id: "dies", whole: []string{"engine_dies=1"}, cells: []faultCell{{name: "killed", requests: 4}, {name: "after"}}}
	p.health = faultCampaign{id: "health", whole: []string{"health_fails=1"}, cells: []faultCell{{name: "sick", requests: 2}}}
	p.faults = faultCampaign{id: "faults", observe: true, cells: []faultCell{
		{name: "texts", requests: 3, concurrency: 3, faults: []string{"in_band_error=4@index=0", "vllm_engine_dead@index=1", "gpu_out_of_memory@index=2"}},
	}}
	return p
}

// TestTransportCases plays the servers of part B and checks what ingest and the
// views make of them.
func TestTransportCases(t *testing.T) {
	p := transportPlan(t)
	d := playFaults(t, p.all()...)
	t.Run("every request arrives once", func(t *testing.T) {
		for _, c := range p.all() {
			c.onceEach(t, d)
		}
	})
	t.Run("no timeout or loss is a capacity refusal", func(t *testing.T) {
		d.want(t, "SELECT DISTINCT campaign FROM stops WHERE rule = 'capacity_refusal' AND campaign <> 'plain'")
	})
	for name, check := range map[string]func(*testing.T, faultDB){
		"B01 nothing is tried again":                       p.checkRetries,
		"B02 nothing is sent again on a dead connection":   p.checkDead,
		"B04 the limit is on silence":                      p.checkSilence,
		"B05 the cell's bound cuts off and keeps":          p.checkOuter,
		"B07 one HTTP version in a cell and across arms":   p.checkHTTP,
		"B08 vLLM's refusals":                              p.checkRefusals("vllm_", "no_output"),
		"B09 SGLang's refusals":                            p.checkRefusals("sglang_", "queue_full"),
		"B10 llama.cpp's refusals":                         p.checkRefusals("llamacpp_", "refused_in_band", "error_200"),
		"B11 TensorRT-LLM's refusals":                      p.checkRefusals("tensorrt_llm_"),
		"refusals of other engines and statuses":           p.checkRefusals(""),
		"B12 the real prompt decides at the edge":          p.checkEdge,
		"B14 a request that is never scheduled":            p.checkNeverScheduled,
		"B15 refused authentication gives no numbers":      p.checkAuth,
		"B16 the next cell waits for an idle engine":       p.checkDrain,
		"B17 another request's marker":                     p.checkMarkers,
		"B19 a reset, a dead engine and a sick one differ": p.checkEngineFaults,
	} {
		t.Run(name, func(t *testing.T) { check(t, d) })
	}
}

func TestEveryTransportCaseHasATest(t *testing.T) {
	source, err := os.ReadFile("transport_cases_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(B[0-9]{2}) [^"]+": +p\.check`).FindAllStringSubmatch(string(source), -1) {
		tested[m[1]] = true
	}
	if diff := cmp.Diff(partB, slices.Sorted(maps.Keys(tested))); diff != "" {
		t.Errorf("cases and subtests (-cases +tested):\n%s", diff)
	}
	cases, err := os.ReadFile("../../shared/cases.md")
	if err != nil {
		t.Skip("the field cases are not beside the repository")
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^### (B[0-9]{2}) `).FindAllStringSubmatch(string(cases), -1) {
		listed = append(listed, m[1])
	}
	if diff := cmp.Diff(listed, partB); diff != "" {
		t.Errorf("cases.md and partB (-cases +partB):\n%s", diff)
	}
}

// outcomes lists the outcomes of a cell's requests.
func outcomes(t *testing.T, d faultDB, c *faultCampaign, cell string) string {
	t.Helper()
	return strings.Join(d.list(t, "SELECT outcome FROM request_facts WHERE "+c.of(cell)+" ORDER BY request_index"), " ")
}

// eligibility is run state, eligibility and the four counts of a cell.
func eligibility(t *testing.T, d faultDB, c *faultCampaign, cell string) string {
	t.Helper()
	return strings.Join(d.list(t, "SELECT run_state, eligibility, planned, dispatched, terminal, passing FROM cell_eligibility WHERE "+c.of(cell)), " ")
}

// expect compares two short texts.
func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

func (p *transportCampaigns) checkRetries(t *testing.T, d faultDB) {
	c := &p.plain
	expect(t, "outcomes", outcomes(t, d, c, "retries"), "refused_rate_limited complete refused_unclassified complete")
	expect(t, "cell", eligibility(t, d, c, "retries"), "complete|ineligible|4|4|2|2")
	file := c.file("retries", "requests")
	for _, head := range d.list(t, "SELECT decode(response_head) FROM read_parquet('"+file+"', hive_partitioning = false) WHERE request_index IN (0, 2)") {
		if after, ok := stream.HeadField([]byte(head), "Retry-After"); !ok || after != "5" {
			t.Errorf("the head is not kept: %q", head)
		}
	}
}

func (p *transportCampaigns) checkDead(t *testing.T, d faultDB) {
	expect(t, "outcomes", outcomes(t, d, &p.plain, "dead"), "complete connection_reset complete connection_reset complete connection_reset complete")
	expect(t, "cell", eligibility(t, d, &p.plain, "dead"), "complete|ineligible|7|7|4|4")
	d.want(t, "SELECT request_index, http_status, events FROM request_facts WHERE outcome = 'connection_reset' AND "+p.plain.of("dead")+" ORDER BY 1",
		"1|null|0", "3|null|0", "5|200|3")
	d.want(t, "SELECT count(*) FROM stops WHERE rule = 'engine_fault' AND campaign = 'plain'", "0")
}

func (p *transportCampaigns) checkSilence(t *testing.T, d faultDB) {
	// Streams of more than the limit in all, with less between two bytes.
	expect(t, "slow and commented", outcomes(t, d, &p.long, "long"), "complete complete")
	d.want(t, "SELECT request_index FROM request_facts WHERE campaign = 'long' AND done_ns > 1500000000 ORDER BY 1", "0", "1")
	// Silence in the stream, and before the first byte.
	expect(t, "silence", outcomes(t, d, &p.silent, "silent"), "idle_timeout idle_timeout")
	d.want(t, "SELECT events, http_status, end_ns - first_event_ns >= 1000000000 FROM request_facts WHERE request_index = 0 AND "+p.silent.of("silent"), "4|200|true")
	d.want(t, "SELECT events, http_status, end_ns >= 1000000000 FROM request_facts WHERE request_index = 1 AND "+p.silent.of("silent"), "0|null|true")
	d.want(t, "SELECT verdict, detail FROM request_verdicts WHERE rule = 'terminal' AND request_index = 1 AND "+p.silent.of("silent"),
		"fail|idle_timeout, HTTP status unknown, no event stream")
	expect(t, "the cell", eligibility(t, d, &p.silent, "silent"), "complete|ineligible|2|2|0|0")
	expect(t, "the cell after", eligibility(t, d, &p.silent, "next"), "complete|eligible|1|1|1|1")
}

func (p *transportCampaigns) checkOuter(t *testing.T, d faultDB) {
	c := &p.outer
	var codes []string
	_, warnings := plan.Check(c.plan, time.Now())
	for _, w := range warnings {
		codes = append(codes, w.Code)
	}
	if !slices.Contains(codes, "outer_timeout_below_work") {
		t.Errorf("the plan's check does not warn: %v", codes)
	}
	got := d.list(t, `SELECT run_state, eligibility, planned, terminal BETWEEN 1 AND 19, failed_rules LIKE '%cell_complete%' FROM cell_eligibility WHERE `+c.of("capped"))
	expect(t, "capped", got[0], "outer_timeout|ineligible|20|true|true")
	d.want(t, "SELECT DISTINCT outcome FROM request_facts WHERE "+c.of("capped")+" ORDER BY 1", "complete", "not_dispatched", "outer_timeout")
	d.want(t, "SELECT count(*) FROM request_facts WHERE "+c.of("capped"), "20")
	d.want(t, "SELECT rule, blocks FROM stops WHERE rule = 'deadline' AND campaign = 'outer'", "deadline|[]")
	d.want(t, "SELECT count(*) FROM cell_distributions WHERE population = 'eligible' AND "+c.of("capped"), "0")
}

func (p *transportCampaigns) checkHTTP(t *testing.T, d faultDB) {
	c := &p.plain
	expect(t, "outcomes", outcomes(t, d, c, "http"), "complete complete protocol")
	d.want(t, "SELECT http_version FROM request_facts WHERE "+c.of("http")+" ORDER BY request_index", "HTTP/1.1", "HTTP/1.0", "null")
	d.want(t, "SELECT verdict FROM cell_verdicts WHERE rule = 'identity_stable' AND "+c.of("http"), "fail")
	for _, a := range c.arrivals {
		if a.Proto != "HTTP/1.1" {
			t.Errorf("a request came as %s", a.Proto)
		}
	}
	d.want(t, "SELECT comparable, reasons LIKE '%http_version%' FROM pair_comparability WHERE campaign = 'arms'", "false|true")
	d.want(t, "SELECT count(*) FROM comparisons WHERE campaign = 'arms'", "0")
}

// checkRefusals checks the rows whose names begin with one of the prefixes; the
// empty one stands for those that no other test looks at.
func (p *transportCampaigns) checkRefusals(prefixes ...string) func(*testing.T, faultDB) {
	return func(t *testing.T, d faultDB) {
		checked := 0
		for i, name := range slices.Sorted(maps.Keys(refusalRows)) {
			if !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
				continue
			}
			checked++
			got := d.list(t, fmt.Sprintf("SELECT %s FROM request_facts WHERE request_index = %d AND %s", refusalColumns, i, p.plain.of("refused")))
			expect(t, name, strings.Join(got, " "), refusalRows[name])
		}
		if checked == 0 {
			t.Error("nothing was checked")
		}
		expect(t, "the cell", eligibility(t, d, &p.plain, "refused"), fmt.Sprintf("complete|ineligible|%[1]d|%[1]d|1|0", len(refusalRows)))
		d.want(t, "SELECT count(p50) FROM cell_distributions WHERE "+p.plain.of("refused"), "0")
	}
}

// edgeLimits are the lengths for the two requests of the first cell: exactly
// what the first one needs, as the engine counts it, and one token less than the
// second one needs.
func (c *faultCampaign) edgeLimits(t *testing.T) [2]int64 {
	t.Helper()
	text, problems := plan.Expand([]byte(c.spec()), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, _ := plan.Decode(text)
	_, url := c.engine(t, nil)
	var limits [2]int64
	for i := range limits {
		prompt, err := workload.Build(p.Cells[0], int64(i))
		if err != nil {
			t.Fatal(err)
		}
		limits[i] = tokensOf(t, url, prompt.Text) + 4096 - int64(i)
	}
	return limits
}

// tokensOf asks the engine how many tokens a message has.
func tokensOf(t *testing.T, url, text string) int64 {
	t.Helper()
	body, err := json.Marshal(map[string]any{"messages": []any{map[string]string{"role": "user", "content": text}}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(strings.TrimSuffix(url, "/v1")+"/tokenize", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var counted struct{ Count int64 }
	if err := json.NewDecoder(response.Body).Decode(&counted); err != nil || counted.Count == 0 {
		t.Fatalf("tokenize: %d %v", counted.Count, err)
	}
	return counted.Count
}

func (p *transportCampaigns) checkEdge(t *testing.T, d faultDB) {
	c := &p.plain
	expect(t, "outcomes", outcomes(t, d, c, "edge"), "complete refused_context")
	d.want(t, "SELECT prompt_tokens FROM request_facts WHERE request_index = 0 AND "+c.of("edge"), fmt.Sprint(p.edge[0]-4096))
	limit := p.edge[1]
	d.want(t, "SELECT "+refusalColumns+" FROM request_facts WHERE request_index = 1 AND "+c.of("edge"),
		fmt.Sprintf("refused_context|null|vllm_context_at_least|model_length|%d|%d|%d|4096|true", limit, limit+1, limit+1-4096))
}

func (p *transportCampaigns) checkNeverScheduled(t *testing.T, d faultDB) {
	c := &p.silent
	d.want(t, "SELECT outcome, output_events, ttfo_ns, prompt_tokens FROM request_facts WHERE "+c.of("queued"), "idle_timeout|0|null|null")
	d.want(t, "SELECT canonical, max(value) FROM engine_gauges WHERE phase = 'during' AND canonical IN ('requests_running', 'requests_waiting') AND "+c.of("queued")+
		" GROUP BY canonical ORDER BY canonical", "requests_running|0", "requests_waiting|1")
	expect(t, "the cell after", eligibility(t, d, c, "next"), "complete|eligible|1|1|1|1")
}

func (p *transportCampaigns) checkAuth(t *testing.T, d faultDB) {
	c := &p.plain
	expect(t, "outcomes", outcomes(t, d, c, "auth"), "refused_auth refused_auth refused_auth")
	expect(t, "cell", eligibility(t, d, c, "auth"), "complete|ineligible|3|3|0|0")
	d.want(t, "SELECT count(p50) FROM cell_distributions WHERE "+c.of("auth"), "0")
	d.want(t, "SELECT count(throughput_tok_s) FROM cell_overlap WHERE "+c.of("auth"), "0")
}

func (p *transportCampaigns) checkDrain(t *testing.T, d faultDB) {
	c := &p.drain
	expect(t, "left", outcomes(t, d, c, "left"), "idle_timeout")
	d.want(t, "SELECT drain_after_ns > 500000000, drain_verified FROM attempts WHERE "+c.of("left"), "true|true")
	d.want(t, "SELECT max(value) FROM engine_gauges WHERE phase = 'after' AND canonical = 'requests_running' AND "+c.of("left"), "1")
	expect(t, "next", eligibility(t, d, c, "next"), "complete|eligible|1|1|1|1")
	d.want(t, "SELECT max(value) FROM engine_gauges WHERE phase = 'before' AND canonical = 'requests_running' AND "+c.of("next"), "0")
	if gap := c.arrivals[1].MonoNs - c.arrivals[0].MonoNs; gap < 1_800_000_000 {
		t.Errorf("the next cell began %d ns after the request that timed out after 1 s and went on for 0.8 s", gap)
	}
}

func (p *transportCampaigns) checkMarkers(t *testing.T, d faultDB) {
	c := &p.markers
	verdicts := func(cell string, want ...string) {
		t.Helper()
		d.want(t, "SELECT request_index, rule, detail FROM request_verdicts WHERE verdict <> 'pass' AND verdict <> 'not_applicable' AND "+c.of(cell)+" ORDER BY 1, 2", want...)
	}
	d.want(t, "SELECT max_overlap FROM cell_overlap WHERE "+c.of("four"), "4")
	verdicts("four",
		"1|canary_first|marker foreign",
		"1|no_foreign_marker|request 1 carries the marker of request 2 (ASSAY_REQ_7000_00002)")
	verdicts("more",
		"0|no_foreign_marker|request 0 carries the marker of request 1 (ASSAY_REQ_7010_00001)",
		"2|no_foreign_marker|request 2 carries the marker of request 3 (ASSAY_REQ_7010_00003)",
		"3|canary_first|marker own_late")
	expect(t, "four", eligibility(t, d, c, "four"), "complete|ineligible|4|4|4|3")
	expect(t, "more", eligibility(t, d, c, "more"), "complete|ineligible|5|5|5|2")
	d.want(t, "SELECT verdict, failing_requests FROM cell_verdicts WHERE rule = 'no_foreign_marker' AND "+c.of("four"), "fail|[1]")
	d.want(t, "SELECT DISTINCT rule FROM stops WHERE "+c.of("four"), "canary_or_loss")
	d.want(t, "SELECT count(*) FROM request_facts WHERE outcome = 'complete' AND "+c.of("four"), "4")
}

func (p *transportCampaigns) checkEngineFaults(t *testing.T, d faultDB) {
	d.want(t, "SELECT outcome, output_events, ttfo_ns IS NOT NULL, done_ns FROM request_facts WHERE request_index = 5 AND "+p.plain.of("dead"),
		"connection_reset|2|true|null")

	c := &p.dies
	expect(t, "killed", outcomes(t, d, c, "killed"), "complete connection_reset connect_failed not_dispatched")
	expect(t, "after", outcomes(t, d, c, "after"), "not_dispatched")
	d.want(t, "SELECT rule, blocks FROM stops WHERE campaign = 'dies' AND rule = 'engine_fault'", `engine_fault|["`+c.cellID("after")+`"]`)
	d.want(t, "SELECT run_state FROM cell_eligibility WHERE "+c.of("after"), "blocked_by_stop")

	expect(t, "sick", outcomes(t, d, &p.health, "sick"), "complete complete")
	d.want(t, "SELECT phase, http_status FROM read_parquet('"+p.health.file("sick", "answers")+"', hive_partitioning = false) WHERE path = '/health' ORDER BY at_ns",
		"before|200", "after|503")
	d.want(t, "SELECT count(*) FILTER (error <> ''), count(*) > 0 FROM pages WHERE phase = 'after' AND "+p.health.of("sick"), "0|true")

	d.want(t, "SELECT outcome, fault_class, error_pattern FROM request_facts WHERE campaign = 'faults' ORDER BY request_index",
		"in_band_error|engine_dead|vllm_engine_dead", "refused_unclassified|engine_dead|vllm_engine_dead", "refused_unclassified|gpu_oom|cuda_out_of_memory")
}
