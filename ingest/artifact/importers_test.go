package artifact

import (
	"path/filepath"
	"strings"
	"testing"
)

// Each shape is told by its fields, and each fixture's figures follow from its
// rows: testdata was written by another program.
func TestAnvilShapesAndTheirFigures(t *testing.T) {
	db := openDB(t)
	load(t, db, filepath.Join("testdata", "files"))
	want(t, db, "SELECT path, protocol, shape, protocol_basis, summary_only, first_output_boundary, requests, completed, failed FROM artifacts WHERE tool = 'anvil-serving' ORDER BY 1",
		"anvil-aggregate.json|anvil/capacity-v3-synchronized-independent-replicas|replicas|label|false|first_any|4|4|0",
		"anvil-all-failed.json|anvil/capacity-v4-reasoning|distributions-sampling|streams|false|first_any|3|0|3",
		"anvil-distributions-again.json|anvil/capacity-v4-reasoning|distributions-sampling|streams|false|first_any|3|3|0",
		"anvil-distributions-other.json|anvil/capacity-v4-reasoning|distributions-sampling|streams|false|first_any|3|3|0",
		"anvil-distributions.json|anvil/capacity-v4-reasoning|distributions-sampling|streams|false|first_any|3|3|0",
		"anvil-legacy.json|anvil/legacy|legacy|fields|true|first_visible|3|3|null",
		"anvil-v2.json|anvil/capacity-v2|v2|label|true|first_visible|3|3|0",
		"anvil-v3-first-output.json|anvil/capacity-v3|v3-first-output|streams|false|first_any|3|3|0",
		"anvil-v3.json|anvil/capacity-v3|v3|label|false|first_visible|3|3|0",
		"anvil-v4.json|anvil/capacity-v4-reasoning|v4|streams|false|first_any|3|2|1")
	want(t, db, "SELECT kind, model, gpu FROM artifacts WHERE path = 'anvil-aggregate.json'", "aggregate|m|null")
	want(t, db, "SELECT count(*) FROM artifact_stats JOIN artifacts USING (artifact) WHERE tool = 'anvil-serving' AND agreement = 'different'", "0")
	want(t, db, "SELECT DISTINCT source_key FROM artifact_stats JOIN artifacts USING (artifact) WHERE tool = 'anvil-serving' AND NOT summary_only AND agreement = 'not_evaluable' ORDER BY 1",
		"content_chunks", "prefix_cache_hit_avg")
	want(t, db, "SELECT count(*) FROM artifact_stats WHERE n IS NULL AND agreement = 'exact' AND stat LIKE 'p__'", "0")
	want(t, db, "SELECT sum(derived_stated), sum(derived_exact) FROM artifact_requests JOIN artifacts USING (artifact) WHERE tool = 'anvil-serving'", "141|141")
	want(t, db, "SELECT started_unix_ns, time_precision_ns, temperature, top_p, reasoning_effort FROM artifacts WHERE path = 'anvil-distributions.json'",
		"1790000000123456789|1|0|not_sent|not_sent")
	want(t, db, "SELECT started_unix_ns, time_precision_ns, temperature FROM artifacts WHERE path = 'anvil-v3.json'", "1785405600000000000|1000000000|null")
	want(t, db, "SELECT request_index, failure_class, error_type, t_first_any_ms, elapsed_ms, words_exact, artifact_requests.missing FROM artifact_requests JOIN artifacts USING (artifact) WHERE status = 'failed' AND path LIKE 'anvil%' AND request_index = 1 ORDER BY path",
		"1|controlled_output_failed|ValueError|96.5|302.5|false|{}",
		`1|null|ValueError|null|null|null|{"e2e_ms":"no timing of this failure is retained","failure_class":"this shape of the artifact has no failure classes"}`)
}

// readText reads a file and gathers its rows, without a database.
func readText(t *testing.T, text string) (all Batch) {
	t.Helper()
	err := Read("0", "x.json", []byte(text), func(b Batch) error {
		all.Artifacts = append(all.Artifacts, b.Artifacts...)
		all.Stats = append(all.Stats, b.Stats...)
		all.Problems = append(all.Problems, b.Problems...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWhatDoesNotFollowIsAProblemWithBothValues(t *testing.T) {
	for _, tt := range []struct {
		name, file, old, new string
		code                 Code
		detail               string
	}{
		{"percentile", "anvil-v3.json", `"e2e_p50_ms": 300.5`, `"e2e_p50_ms": 300.25`, "statistic_differs", "p50 is stated as 300.25; the rows give 300.5"},
		{"null statistic", "anvil-v3.json", `"e2e_p50_ms": 300.5`, `"e2e_p50_ms": null`, "statistic_differs", "p50 is stated as null; the rows give 300.5"},
		{"throughput", "anvil-v3.json", `"throughput_tok_s": 32.83`, `"throughput_tok_s": 33.83`, "statistic_differs", ""},
		{"derived field", "anvil-v3.json", `"generation_ms": 240.25`, `"generation_ms": 241.25`, "field_differs", "stated as 241.25; the row's other fields give 240.25"},
		{"completed", "anvil-v3.json", `"completed": 3`, `"completed": 2`, "counts_disagree", "completed is stated as 2; the file has 3 rows for it"},
		{"index twice", "anvil-v3.json", `"request_index": 2`, `"request_index": 1`, "counts_disagree", "the request indexes are not 0 to 2, each once"},
		{"aggregate", "anvil-aggregate.json", `"throughput_tok_s": 50.0`, `"throughput_tok_s": 57.0`, "statistic_differs", "rate is stated as 57; the rows give 50"},
		{"mean of vLLM", "vllm-latencies.json", `"mean_ttft_ms": 804.333`, `"mean_ttft_ms": 805.333`, "statistic_differs", ""},
		{"rate of vLLM", "vllm-plain.json", `"request_throughput": 0.3157`, `"request_throughput": 0.4157`, "statistic_differs", ""},
		{"median of GuideLLM", "guidellm.json", `"median": 1500.0`, `"median": 1550.0`, "statistic_differs", "p50 is stated as 1550; the rows give 1500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := string(fixture(t, tt.file))
			if !strings.Contains(text, tt.old) {
				t.Fatalf("the fixture does not have %q", tt.old)
			}
			found := false
			all := readText(t, strings.Replace(text, tt.old, tt.new, 1)).Problems
			for _, p := range all {
				found = found || p.Code == tt.code && strings.HasPrefix(p.Detail, tt.detail)
			}
			if !found {
				t.Errorf("problems: %+v", all)
			}
		})
	}
}

func TestVLLMFailedRowsAreNullAndSecondsBecomeMilliseconds(t *testing.T) {
	db := loadFile(t, "vllm-detailed.json")
	want(t, db, "SELECT request_index, status, t_first_any_ms, output_tokens, round(e2e_ms, 6), e2e_basis, gaps, error_sha256 IS NOT NULL, t_first_visible_ms FROM artifact_requests ORDER BY 1",
		"0|completed|812|3|854|reconstructed|2|false|null",
		"1|failed|null|null|null|null|null|true|null",
		"2|completed|900|4|960|reconstructed|3|false|null",
		"3|completed|701|3|741|reconstructed|2|false|null")
	want(t, db, "SELECT protocol, requests, completed, failed, concurrency, request_rate, wall_ms, model, engine, summary_only FROM artifacts",
		"vllm-bench/detailed|4|3|1|2|inf|9500|m|openai-chat|false")
	want(t, db, "SELECT metric, stat, unit, value, n, agreement FROM artifact_stats WHERE source_key IN ('median_ttft_ms', 'p99_itl_ms', 'mean_e2el_ms') ORDER BY ALL",
		"e2e|mean|ms|860.3333333333333|null|not_evaluable", "inter_chunk_gap|p99|ms|29.52|7|exact", "t_first_any|p50|ms|812|3|exact")
	want(t, db, problems)

	db = loadFile(t, "vllm-latencies.json")
	want(t, db, "SELECT e2e_ms, e2e_basis FROM artifact_requests WHERE request_index = 0", "861|stated")
	want(t, db, "SELECT agreement, count(*) FROM artifact_stats WHERE stat LIKE 'p%' OR stat IN ('mean', 'stddev') GROUP BY ALL ORDER BY ALL", "exact|25")
}

func TestVLLMAppendedLinesAreRunsOfOneFile(t *testing.T) {
	db := loadFile(t, "vllm-appended.json")
	want(t, db, "SELECT part, protocol, summary_only FROM artifacts ORDER BY part", "0|vllm-bench/plain|true", "1|vllm-bench/detailed|false", "2|vllm-bench/detailed|false")
	want(t, db, problems, "statistic_differs vllm-appended.json line 3: median_ttft_ms")
	want(t, db, "SELECT part, count(*) FROM artifact_requests JOIN artifacts USING (artifact) GROUP BY ALL ORDER BY ALL", "1|4", "2|4")
}

func TestVLLMWithoutErrorsTellsFailuresByTheirZeros(t *testing.T) {
	db := loadText(t, "x.json", `{"backend":"vllm","num_prompts":2,"duration":1.0,"completed":1,"total_output_tokens":3,"input_lens":[5,6],"output_lens":[3,0],"ttfts":[0.5,0.0],"itls":[[0.1,0.1],[]]}`)
	want(t, db, "SELECT status, t_first_any_ms FROM artifact_requests ORDER BY request_index", "completed|500", "failed|null")
	want(t, db, problems)
}

func TestVLLMArraysOfUnequalLengthGiveNoRows(t *testing.T) {
	db := loadText(t, "x.json", `{"backend":"vllm","num_prompts":2,"duration":1.0,"completed":2,"total_output_tokens":3,"output_lens":[3,3],"ttfts":[0.5]}`)
	want(t, db, "SELECT summary_only, (SELECT count(*) FROM artifact_requests) FROM artifacts", "true|0")
	want(t, db, problems, "unequal_lengths x.json /output_lens")
}

func TestSGLangBareInfinityLoadsAndLengthsAreAssumed(t *testing.T) {
	db := loadFile(t, "sglang.jsonl")
	if text := string(fixture(t, "sglang.jsonl")); !strings.Contains(text, `"request_rate": Infinity`) {
		t.Fatal("the fixture has no bare Infinity")
	}
	want(t, db, "SELECT part, protocol, request_rate, concurrency, requests, completed, failed FROM artifacts ORDER BY part",
		"0|sglang-bench/sglang-oai-chat|inf|4|null|2|null", "1|sglang-bench/sglang-oai-chat|inf|4|3|2|1", "2|sglang-bench/sglang|2.5|4|3|2|1")
	want(t, db, "SELECT part, request_index, status, t_first_any_ms, output_tokens, output_token_source, cached_tokens, e2e_basis FROM artifact_requests JOIN artifacts USING (artifact) ORDER BY ALL",
		"1|0|completed|300|16|assumed|0|reconstructed", "1|1|completed|500|16|assumed|256|reconstructed", "1|2|failed|null|null|null|null|null",
		"2|0|completed|300|16|confirmed_by_retokenizing|0|null", "2|1|completed|500|16|confirmed_by_retokenizing|256|null", "2|2|failed|null|null|null|null|null")
	want(t, db, problems)
	want(t, db, "SELECT metric, stat, value FROM artifact_stats JOIN artifacts USING (artifact) WHERE source_key IN ('concurrency', 'total_output_tokens_retokenized') AND part = 0 ORDER BY ALL",
		"completion_tokens|sum_retokenized|31", "concurrency|mean|0.9")
}

func TestGuideLLMZeroGroupsAreNull(t *testing.T) {
	db := loadFile(t, "guidellm.json")
	want(t, db, "SELECT part, tool_version, model, run_id, shape, requests, completed, failed, concurrency, request_rate, wall_ms FROM artifacts ORDER BY part",
		"0|0.8.0|m|run-1|concurrent|3|2|1|2|null|9000", "1|0.8.0|m|null|constant|0|0|0|null|2|5000")
	want(t, db, "SELECT count(*), count(value), count(reason) FROM artifact_stats WHERE n = 0 AND stat <> 'n'", "285|0|285")
	want(t, db, "SELECT scope, stat, unit, value, recomputed, agreement FROM artifact_stats JOIN artifacts USING (artifact) WHERE part = 0 AND metric = 't_first_any' AND scope = 'completed' AND stat IN ('p0.1', 'p50', 'p99.9', 'stddev') ORDER BY ALL",
		"completed|p0.1|ms|800|800|exact", "completed|p50|ms|800|800|exact", "completed|p50|ms|800|800|exact", "completed|p99.9|ms|824|824|exact", "completed|stddev|ms|12|12|exact")
	want(t, db, "SELECT DISTINCT agreement FROM artifact_stats WHERE metric = 'time_per_output_token'", "not_evaluable")
	want(t, db, "SELECT request_id, status, t_first_any_ms, t_first_visible_ms, e2e_ms, prompt_tokens, start_unix_ns > 1792234551000000000, error_sha256 IS NOT NULL FROM artifact_requests ORDER BY request_index",
		"r0|completed|800|1500|1900|8012|true|false", "r1|completed|824|1600|2100|8020|true|false", "r2|failed|null|null|400|8000|true|true")
	want(t, db, problems)
}

func TestAIPerfNamesLandInTheRightColumns(t *testing.T) {
	db := loadFile(t, "aiperf-records.jsonl")
	want(t, db, "SELECT request_id, phase, status, t_first_any_ms, t_first_visible_ms, e2e_ms, output_tokens, visible_tokens, reasoning_tokens, round(gap_mean_ms, 3), gaps, failure_class, error_type FROM artifact_requests ORDER BY request_index",
		"a0|warmup|completed|null|null|9000|null|null|null|null|null|null|null",
		"a1|profiling|completed|800|1500|1900|3|1|2|19.95|2|null|null",
		"a2|profiling|failed|null|null|null|null|null|null|null|null|code_500|ServerError",
		"a3|profiling|completed|820|null|1950|4|null|null|null|null|null|null")
	want(t, db, "SELECT requests, completed, failed, finished_unix_ns - started_unix_ns FROM artifacts", "3|2|1|3900000000")

	db = loadFile(t, "aiperf-summary.json")
	want(t, db, "SELECT metric, stat, value, unit, n FROM artifact_stats WHERE stat = 'p50' OR metric = 'request_throughput' ORDER BY ALL",
		"request_throughput|mean|0.9|requests/sec|null", "t_first_any|p50|810|ms|2", "t_first_visible|p50|1510|ms|null")
	want(t, db, "SELECT scope, metric, value FROM artifact_stats WHERE scope = 'warmup'", "warmup|e2e|9000")
}

// Two kinds of errors, five failures.
func TestAIPerfFailuresAreCountedNotTheirKinds(t *testing.T) {
	db := loadFile(t, "aiperf-summary.json")
	want(t, db, "SELECT requests, completed, failed, concurrency, model, run_id, protocol, summary_only FROM artifacts", "7|2|5|2|m|b1|aiperf/summary-1|true")
}

func TestOtherVersionsAreRefusedByName(t *testing.T) {
	for name, text := range map[string]string{
		"anvil-serving.benchmark/v2": `{"schema":"anvil-serving.benchmark/v2"}`,
		"guidellm":                   `{"metadata":{"version":3},"benchmarks":[]}`,
		"guidellm without":           `{"metadata":{},"benchmarks":[]}`,
		"aiperf":                     `{"schema_version":"2.0","aiperf_version":"9"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := readText(t, text)
			if len(got.Problems) != 1 || got.Problems[0].Code != CodeOtherVersion || len(got.Stats) > 0 {
				t.Errorf("problems %+v and %d figures", got.Problems, len(got.Stats))
			}
			if a := got.Artifacts[0]; len(got.Artifacts) != 1 || a.Kind != KindUnknown || a.State != stateRefused || a.Protocol != "" {
				t.Errorf("artifacts: %+v", got.Artifacts)
			}
		})
	}
	got := readText(t, `{"schema":"someone.else/v1","ttft_ms":12}`).Problems
	if len(got) != 1 || got[0].Detail != `no importer knows the schema "someone.else/v1"` {
		t.Errorf("problems: %+v", got)
	}
}

// No text of a prompt, an answer or an error, and no address, gets in.
func TestNoTextOfRequestsIsStored(t *testing.T) {
	db := openDB(t)
	load(t, db, filepath.Join("testdata", "files"))
	for _, table := range []string{"artifacts", "artifact_requests", "artifact_stats", "problems"} {
		all := strings.Join(query(t, db, "SELECT * FROM "+table), "\n")
		for _, word := range []string{"secret", "hidden", "gpu-host", "example", "went away", "127.0.0.1", "visible content was"} {
			if strings.Contains(all, word) {
				t.Errorf("%s holds %q", table, word)
			}
		}
	}
}

func TestFieldsOfAnotherTypeAreNullWithAProblem(t *testing.T) {
	db := loadText(t, "x.json", `{"schema":"anvil-serving.benchmark/v1","requests":"three","completed":-1,"concurrency":1.5,"wall_clock_ms":NaN,"model":7,
		"started_at":"yesterday","request_canaries":"yes","max_tokens":99999999999999999999,"metrics":{"ttft_p50_ms":"fast","e2e_p50_ms":Infinity},"request_timings":{},"failures":[]}`)
	want(t, db, "SELECT requests, completed, concurrency, wall_ms, model, started_unix_ns, request_canaries, max_tokens FROM artifacts", "null|null|null|null|null|null|null|null")
	want(t, db, "SELECT code || ' ' || position FROM problems ORDER BY ALL",
		"not_finite /metrics/e2e_p50_ms", "not_finite /wall_clock_ms", "wrong_type /completed", "wrong_type /concurrency", "wrong_type /max_tokens",
		"wrong_type /model", "wrong_type /request_canaries", "wrong_type /requests", "wrong_type /started_at")
}
