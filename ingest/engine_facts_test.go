package ingest_test

import (
	"testing"
	"time"

	"assay/collect/engine"
	"assay/collect/record"
	. "assay/ingest/ingesttest"
)

// answered adds an answer to a question before the cell; status 0 is a source that
// is no question over HTTP.
func answered(a *Attempt, path string, status int64, body string) {
	row := record.Answer{Phase: "before", Path: path, AtNs: a.StartNs, AtUnixNs: AnchorUnixNs + a.StartNs, Body: []byte(body)}
	if status != 0 {
		row.HTTPStatus = &status
	}
	if status >= 400 {
		row.Error = "http_404"
	}
	a.Answers = append(a.Answers, row)
}

// From what engines answer, log and were started with to the facts of the arms:
// each with its source and confidence, a product never where the pool is stated,
// and the three claims apart.
func TestCapacityFromAnswersArgvAndLogs(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "v", Arm: "vllm"}, CellSpec{ID: "s", Arm: "sglang"}, CellSpec{ID: "l", Arm: "llamacpp"}))
	v := run.Cell("v").Identity("before", "m", "0.30", 327680).Fill()
	v.Page("before", 0, "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"20000\"} 1\n")
	answered(v, engine.PathServerInfo, 404, `{"detail":"Not Found"}`)
	answered(v, engine.SourceArgv, 0, string(engine.KeepArgv([]string{"serve", "--max-num-seqs", "4"})))
	answered(v, engine.SourceLog, 0, "(EngineCore_DP0 pid=1) GPU KV cache size: 393,216 tokens\n(EngineCore_DP0 pid=1) Model loading took 33.5 GiB memory and 41.2 seconds\n(EngineCore_DP0 pid=1) Available KV cache memory: 20.5 GiB\n")
	s := run.Cell("s").Fill()
	answered(s, engine.PathServerInfo, 200, `{"max_total_num_tokens":190000,"max_running_requests":48,"context_length":262144}`)
	answered(s, engine.SourceLog, 0, "[2026-10-17 10:00:00] max_running_requests is capped to 10 by the state cache\n")
	l := run.Cell("l").Fill()
	answered(l, engine.PathProps, 200, `{"total_slots":4,"default_generation_settings":{"n_ctx":8192},"build_info":"b5500"}`)
	db := views(t, run)
	want(t, query(t, db, "SELECT arm, fact, value, unit, source, confidence FROM capacity_facts WHERE fact <> 'max_model_len_configured' AND value IS NOT NULL ORDER BY arm, fact"),
		"llamacpp|kv_pool_tokens|32768|tokens|/props total_slots x n_ctx|derived",
		"llamacpp|max_model_len|8192|tokens|/props n_ctx|reported",
		"llamacpp|max_num_seqs|4|requests|/props total_slots|reported",
		"sglang|kv_pool_tokens|190000|tokens|/server_info max_total_num_tokens|reported",
		"sglang|max_model_len|262144|tokens|/server_info context_length|reported",
		"sglang|max_num_seqs|10|requests|engine log|logged",
		"vllm|kv_bytes|2.2011707392e+10|bytes|engine log|logged",
		"vllm|kv_pool_tokens|393216|tokens|engine log|logged", // not 20000 x 16
		"vllm|max_model_len|327680|tokens|/v1/models|reported",
		"vllm|max_num_seqs|4|requests|argv --max-num-seqs|configured",
		"vllm|weights_bytes|3.5970351104e+10|bytes|engine log|logged")
	want(t, query(t, db, "SELECT arm, claim, value, source, note FROM concurrency_claims WHERE claim IN ('scheduler_ceiling', 'kv_resident_capacity', 'measured_concurrency') ORDER BY arm, claim"),
		"llamacpp|kv_resident_capacity|32768|/props total_slots x n_ctx|pool, derived",
		"llamacpp|measured_concurrency|1|client, exact|cell l; prompts of 100 to 100 tokens, outputs of 5 to 5",
		"llamacpp|scheduler_ceiling|4|/props total_slots|reported",
		"sglang|kv_resident_capacity|190000|/server_info max_total_num_tokens|pool, reported",
		"sglang|measured_concurrency|1|client, exact|cell s; prompts of 100 to 100 tokens, outputs of 5 to 5",
		"sglang|scheduler_ceiling|10|engine log|logged",
		"vllm|kv_resident_capacity|393216|engine log|pool, logged",
		"vllm|measured_concurrency|1|client, exact|cell v; prompts of 100 to 100 tokens, outputs of 5 to 5",
		"vllm|scheduler_ceiling|4|argv --max-num-seqs|configured")
	want(t, query(t, db, "SELECT arm, value, source FROM engine_facts WHERE fact = 'engine' ORDER BY 1"), "llamacpp|llamacpp|/props", "sglang|sglang|/server_info", "vllm|vllm|/metrics vllm:")
	want(t, query(t, db, "SELECT arm, source, value FROM engine_facts WHERE fact = 'answer' AND source <> '/v1/models' AND source <> '/version' ORDER BY 1, 2"),
		"llamacpp|/props|200", "sglang|/server_info|200", "sglang|engine log|read", "vllm|/server_info|404", "vllm|argv|read", "vllm|engine log|read")
}

// The client's own cost is the difference of its counters over the attempt; with
// another process in between there is none, and never a negative one.
func TestClientTelemetryOfAnAttempt(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "steady", Arm: "a"}, CellSpec{ID: "restarted", Arm: "a"}, CellSpec{ID: "unread", Arm: "a"}))
	host := func(a *Attempt, at time.Duration, cpu, gc, rss, goroutines int64) {
		a.Host = append(a.Host, record.HostSample{
			Seq: int64(len(a.Host)), Phase: "during", AtNs: a.StartNs + int64(at), Status: "ok",
			ClientCPUNs: &cpu, ClientGCPauseNs: &gc, ClientRSSBytes: &rss, ClientGoroutines: &goroutines,
		})
	}
	steady := run.Cell("steady").Fill()
	host(steady, 0, 1e9, 100, 50e6, 10)
	host(steady, 2*time.Second, 2e9, 300, 70e6, 30)
	host(steady, 4*time.Second, 3e9, 600, 60e6, 20)
	steady.Problems = []record.Problem{
		{Code: "sample_skipped", Source: "pages", Detail: "a reading took longer than the interval; ticks left out: 3"},
		{Code: "sample_skipped", Source: "samples", Detail: "a reading took longer than the interval; ticks left out: 2"},
	}
	restarted := run.Cell("restarted").Fill()
	host(restarted, 0, 9e9, 900, 50e6, 10)
	host(restarted, 2*time.Second, 1e9, 100, 50e6, 10)
	run.Cell("unread").Fill()
	db := views(t, run)
	want(t, query(t, db, `SELECT cell, readings, cpu_ns, cpu_share, gc_pause_ns, rss_max_bytes, goroutines_max, pages_dropped, samples_dropped FROM client_telemetry ORDER BY 1`),
		"restarted|2|null|null|null|50000000|10|0|0", "steady|3|2000000000|0.5|500|70000000|30|3|2", "unread|0|null|null|null|null|null|0|0")
	want(t, query(t, db, "SELECT DISTINCT events, kernel_stamped_events, lag_p50_ns, lag_max_ns FROM client_telemetry"), "9|9|0|0")
}
