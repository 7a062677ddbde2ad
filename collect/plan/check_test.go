package plan

import (
	"strings"
	"testing"
	"time"
)

func TestTheRealPlanHasNoProblemAndItsWarnings(t *testing.T) {
	p := seedPlan(t)
	problems, warnings := Check(p, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
	if len(problems) > 0 {
		t.Errorf("problems = %v", problems)
	}
	for _, want := range []struct{ code, in string }{
		{"outer_timeouts_exceed_cutoff", "66,000 s against a request cutoff of 16,200 s"},
		{"outer_timeout_shorter", "natural cells at context 163840 have a shorter outer timeout at a higher concurrency: C2 1,200 s < C1 1,800 s, C4 1,200 s < C1 1,800 s"},
		{"outer_timeout_shorter", "controlled cells at context 163840"},
		{"warmup_missing", "no warm-up at context 40960"},
		{"arms_not_interleaved", "the arms are not interleaved"},
		{"p95_is_maximum", "p95 is the maximum in every cell with n < 20: 24 of 42 measured cells (n = 4, 8)"},
		{"cutoff_past", "lies in the past"},
		{"outer_timeout_below_work", "in 38 cells"},
		{"p95_descriptive", "42 of 42"},
		{"median_without_interval", "6 of 42"},
	} {
		if !hasWarning(warnings, want.code, want.in) {
			t.Errorf("no warning %s with %q", want.code, want.in)
		}
	}
	if len(warnings) != 10 {
		t.Errorf("%d warnings, want 10: %v", len(warnings), warnings)
	}
}

func hasWarning(list []Warning, code, in string) bool {
	for _, w := range list {
		if w.Code == code && strings.Contains(w.Detail, in) {
			return true
		}
	}
	return false
}

func TestCheckFindsEachProblem(t *testing.T) {
	for _, x := range []struct {
		name          string
		change        func(m anyMap)
		code, pointer string
		in            string
	}{
		{"campaign id", func(m anyMap) { m["campaign_id"] = "../x" }, "bad_name", "/campaign_id", "letters"},
		{"status", func(m anyMap) { m["status"] = "draft" }, "status_not_frozen", "/status", "frozen-before-dispatch"},
		{"metric profile", func(m anyMap) { m["metric_profile"] = "serving-comparison/v2" }, "metric_profile_unknown", "/metric_profile", "v1"},
		{"empty matrix", func(m anyMap) { m["matrix"] = []any{} }, "matrix_empty", "/matrix", "no cell"},
		{"eligibility", func(m anyMap) { m["eligibility"].([]any)[1] = "exact usage counts." }, "eligibility_unknown", "/eligibility/1", "exact usage counts."},
		{"eligibility twice", func(m anyMap) { m["eligibility"].([]any)[1] = m["eligibility"].([]any)[0] }, "eligibility_repeated", "/eligibility/1", "twice"},

		{"cutoff", func(m anyMap) { m["absolute_request_cutoff"] = "2026-10-17T15:31:00Z" }, "deadline_arithmetic", "/absolute_request_cutoff", "2026-10-17T15:30:00Z"},
		{"deadline", func(m anyMap) { m["absolute_campaign_deadline"] = "2026-10-17T17:00:00.001Z" }, "deadline_arithmetic", "/absolute_campaign_deadline", "17:00:00Z"},
		{"total", func(m anyMap) { m["restoration_reserve_seconds"] = 5401 }, "deadline_arithmetic", "/total_bound_seconds", "21601"},
		{"load bound", func(m anyMap) { m["load_bound_seconds"] = 5401 }, "deadline_arithmetic", "/load_bound_seconds", "5400"},
		{"frozen before created", func(m anyMap) { m["frozen_at"] = "2026-10-17T09:00:00Z" }, "deadline_arithmetic", "/frozen_at", "created_at"},
		{"dispatched before frozen", func(m anyMap) { m["frozen_at"] = "2026-10-17T11:00:01Z" }, "deadline_arithmetic", "/dispatch_clock_started_at", "frozen_at"},

		{"same id", func(m anyMap) { cellAt(m, 3)["id"] = cellAt(m, 2)["id"] }, "cell_duplicate_id", "/matrix/3/id", "cell 2"},
		{"same id but for case", func(m anyMap) { cellAt(m, 3)["id"] = strings.ToUpper(cellAt(m, 2)["id"].(string)) }, "cell_duplicate_id", "/matrix/3/id", "cell 2"},
		{"id that leaves its folder", func(m anyMap) { cellAt(m, 3)["id"] = "../../x" }, "bad_name", "/matrix/3/id", "cell id"},
		{"unknown arm", func(m anyMap) { cellAt(m, 3)["arm"] = "third" }, "arm_unknown", "/matrix/3/arm", "third"},
		{"arm that leaves its folder", func(m anyMap) { cellAt(m, 3)["arm"] = ".." }, "bad_name", "/matrix/3/arm", "an arm"},
		{"unknown workload", func(m anyMap) { cellAt(m, 3)["workload"] = "agentic" }, "workload_unknown", "/matrix/3/workload", "agentic"},
		{"warm-up that counts", func(m anyMap) { cellAt(m, 0)["excluded_warmup"] = false }, "warmup_flag", "/matrix/0/excluded_warmup", "false"},
		{"excluded natural cell", func(m anyMap) { cellAt(m, 2)["excluded_warmup"] = true }, "warmup_flag", "/matrix/2/excluded_warmup", "true"},

		{"requests", func(m anyMap) { setFlag(m, 2, "--requests", "9") }, "argv_contradicts_cell", "/matrix/2/argv", "--requests is 9"},
		{"concurrency", func(m anyMap) { setFlag(m, 2, "--concurrency", "3") }, "argv_contradicts_cell", "/matrix/2/argv", "--concurrency is 3"},
		{"context", func(m anyMap) { setFlag(m, 2, "--ctx-tokens", "10241") }, "argv_contradicts_cell", "/matrix/2/argv", "--ctx-tokens is 10241"},
		{"seed", func(m anyMap) { setFlag(m, 2, "--seed", "7") }, "argv_contradicts_cell", "/matrix/2/argv", "--seed is 7"},

		{"max_tokens", func(m anyMap) { setFlag(m, 2, "--max-tokens", "8192") }, "argv_contradicts_controls", "/matrix/2/argv", "controls/max_tokens is 16384, but argv gives 8192"},
		{"max_tokens missing", func(m anyMap) { dropFlag(m, 2, "--max-tokens") }, "argv_contradicts_controls", "/matrix/2/argv", "does not give it"},
		{"model_max_len", func(m anyMap) { setFlag(m, 2, "--max-model-len", "262144") }, "argv_contradicts_controls", "/matrix/2/argv", "model_max_len"},
		{"reasoning_effort", func(m anyMap) { setFlag(m, 2, "--reasoning-effort", "low") }, "argv_contradicts_controls", "/matrix/2/argv", "reasoning_effort"},
		{"temperature", func(m anyMap) { setFlag(m, 2, "--temperature", "0.7") }, "argv_contradicts_controls", "/matrix/2/argv", "temperature"},
		{"top_p missing", func(m anyMap) { dropFlag(m, 2, "--top-p") }, "argv_contradicts_controls", "/matrix/2/argv", "top_p"},
		{"prompt_cache_mode", func(m anyMap) { m["controls"].(anyMap)["prompt_cache_mode"] = "shared" }, "argv_contradicts_controls", "/matrix/0/argv", "prompt_cache_mode"},
		{"request_canaries", func(m anyMap) { dropFlag(m, 2, "--request-canaries") }, "argv_contradicts_controls", "/matrix/2/argv", "request_canaries"},
		{"canaries the eligibility needs", func(m anyMap) { dropFlag(m, 2, "--request-canaries") }, "canary_missing", "/matrix/2/argv", "--request-canaries"},
		{"natural requests", func(m anyMap) { m["controls"].(anyMap)["natural_requests_per_cell"] = 10 }, "requests_contradict_controls", "/matrix/2/requests", "natural_requests_per_cell is 10"},
		{"controlled requests", func(m anyMap) { m["controls"].(anyMap)["controlled_requests_per_cell"] = 10 }, "requests_contradict_controls", "/matrix/11/requests", "controlled_requests_per_cell is 10"},

		{"model", func(m anyMap) { setFlag(m, 2, "--model", "other") }, "argv_contradicts_model", "/matrix/2/argv", "--model"},
		{"engine", func(m anyMap) { setFlag(m, 2, "--engine", "other") }, "argv_contradicts_model", "/matrix/2/argv", "--engine"},
		{"port", func(m anyMap) { setFlag(m, 2, "--base-url", "http://127.0.0.1:31843/v1") }, "argv_contradicts_model", "/matrix/2/argv", "port 31843"},
		{"default port", func(m anyMap) { setFlag(m, 2, "--base-url", "https://127.0.0.1/v1") }, "argv_contradicts_model", "/matrix/2/argv", "port 443"},
		{"base URL", func(m anyMap) { setFlag(m, 2, "--base-url", "127.0.0.1:31841") }, "bad_base_url", "/matrix/2/argv", "http://"},
		{"base URL with a secret", func(m anyMap) { setFlag(m, 2, "--base-url", "http://u:hunter2@127.0.0.1:31841/v1") }, "bad_base_url", "/matrix/2/argv", "--api-key-env"},
		{"endpoint of one cell", func(m anyMap) { setFlag(m, 2, "--base-url", "http://127.0.0.2:31841/v1") }, "endpoint_differs", "/matrix/2/argv", "same arm"},

		{"controlled without words", func(m anyMap) { setFlag(m, 11, "--response-words", "0") }, "argv_contradicts_workload", "/matrix/11/argv", "--response-words"},
		{"controlled without policy", func(m anyMap) { dropFlag(m, 11, "--controlled-output-policy") }, "argv_contradicts_workload", "/matrix/11/argv", "--controlled-output-policy"},
		{"natural with words", func(m anyMap) { setFlag(m, 2, "--response-words", "128") }, "argv_contradicts_workload", "/matrix/2/argv", "128"},
		{"short prompt", func(m anyMap) {
			cellAt(m, 2)["planned_context_tokens"] = 341
			setFlag(m, 2, "--ctx-tokens", "341")
		}, "prompt_too_short", "/matrix/2/argv", "1023 characters"},
		{"no room for a prompt", func(m anyMap) { setFlag(m, 2, "--max-tokens", "327680") }, "prompt_too_short", "/matrix/2/argv", "-3072 characters"},

		{"seed twice in an arm", func(m anyMap) {
			cellAt(m, 3)["seed"] = 482001
			setFlag(m, 3, "--seed", "482001")
		}, "seed_repeated", "/matrix/3/seed", "baseline-natural-ctx10240-c1"},
		{"edge in the middle", func(m anyMap) {
			list := m["matrix"].([]any)
			list[19], list[21] = list[21], list[19]
		}, "edge_not_last", "/matrix/21", "capacity-edge"},

		{"cell missing in the second arm", func(m anyMap) { m["matrix"] = m["matrix"].([]any)[:47] }, "arms_differ", "/matrix/23", "arm candidate has no cell"},
		{"cell missing in the first arm", func(m anyMap) {
			list := m["matrix"].([]any)
			m["matrix"] = append(list[:2:2], list[3:]...)
		}, "arms_differ", "/matrix/25", "arm baseline has no cell"},
		{"other order", func(m anyMap) {
			list := m["matrix"].([]any)
			list[26], list[27] = list[27], list[26]
		}, "arms_differ", "/matrix", "order"},
		{"other seed", func(m anyMap) {
			cellAt(m, 26)["seed"] = 5
			setFlag(m, 26, "--seed", "5")
		}, "arms_differ", "/matrix/26", "differ in seed"},
		{"other number of requests", func(m anyMap) {
			cellAt(m, 46)["requests"] = 5
			setFlag(m, 46, "--requests", "5")
		}, "arms_differ", "/matrix/46", "differ in requests"},
		{"other outer timeout", func(m anyMap) { cellAt(m, 26)["outer_timeout_seconds"] = 1201 }, "arms_differ", "/matrix/26", "outer_timeout_seconds"},
		{"other request controls", func(m anyMap) {
			setFlag(m, 35, "--timeout", "901")
			setFlag(m, 35, "--response-words", "64")
			setFlag(m, 35, "--controlled-output-policy", "observe")
		}, "arms_differ", "/matrix/35", "--timeout, --response-words, --controlled-output-policy"},
	} {
		t.Run(x.name, func(t *testing.T) {
			problems, _ := examine(mutate(t, x.change), exampleNow)
			found := false
			for _, p := range problems {
				found = found || p.Code == x.code && p.Pointer == x.pointer && strings.Contains(p.Detail, x.in)
				if strings.Contains(p.Detail, "hunter2") {
					t.Errorf("a problem quotes a secret: %s", p.Code)
				}
			}
			if !found {
				t.Errorf("no %s at %s with %q in %v", x.code, x.pointer, x.in, problems)
			}
		})
	}
}

func TestCheckWarns(t *testing.T) {
	for _, x := range []struct {
		name     string
		change   func(m anyMap)
		code, in string
	}{
		{"unknown top-level key", func(m anyMap) { m["note"] = "x" }, "unknown_key", "hashed"},
		{"unknown cell key", func(m anyMap) { cellAt(m, 2)["note"] = "x" }, "unknown_key", "hashed"},
		{"unknown control", func(m anyMap) { m["controls"].(anyMap)["top_k"] = 20 }, "control_unknown", "nothing checks"},
		{"unknown stop", func(m anyMap) { m["stops"].(anyMap)["fire"] = "leave" }, "stop_unknown", "operator"},
		{"cache flush", func(m anyMap) { m["controls"].(anyMap)["prefix_cache_flush"] = true }, "prefix_cache_flush", "ever called"},
		{"one arm", func(m anyMap) { m["matrix"] = m["matrix"].([]any)[:24] }, "single_arm", "compare nothing"},
		{"unused arm", func(m anyMap) { m["matrix"] = m["matrix"].([]any)[:24] }, "arm_unused", "no cell"},
		{"idle limit above the outer timeout", func(m anyMap) { setFlag(m, 2, "--timeout", "1201") }, "idle_limit_unused", "1201"},
		{"more workers than requests", func(m anyMap) {
			cellAt(m, 2)["concurrency"] = 9
			setFlag(m, 2, "--concurrency", "9")
		}, "concurrency_above_requests", "never be reached"},
		{"label above the room", func(m anyMap) {
			cellAt(m, 21)["planned_context_tokens"] = 310273
			setFlag(m, 21, "--ctx-tokens", "310273")
		}, "prompt_capped", "930816 characters"},
		{"last cell may be cut", func(m anyMap) { m["load_bound_seconds"] = 3601 }, "last_cell_cut", "17,999 s"},
		{"seeds that pair nothing", func(m anyMap) {
			m["controls"].(anyMap)["same_seed_per_matched_cell"] = false
			cellAt(m, 26)["seed"] = 5
			setFlag(m, 26, "--seed", "5")
		}, "seed_differs", "not be compared"},
		{"redacted host", func(m anyMap) {
			for i := range 24 {
				setFlag(m, i, "--base-url", "http://[host-a]:31841/v1")
			}
		}, "host_redacted", "--base-url baseline=URL"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, warnings := examine(mutate(t, x.change), exampleNow)
			if !hasWarning(warnings, x.code, x.in) {
				t.Errorf("no %s with %q in %v", x.code, x.in, warnings)
			}
		})
	}
}

func TestTheCutoffIsPastFromTheCutoffOn(t *testing.T) {
	p := mustDecode(t, exampleJSON(t))
	for _, x := range []struct {
		now  time.Time
		past bool
	}{
		{p.AbsoluteRequestCutoff.Add(-1), false}, {p.AbsoluteRequestCutoff, true}, {p.AbsoluteRequestCutoff.Add(time.Hour), true},
	} {
		_, warnings := Check(p, x.now)
		if got := hasWarning(warnings, "cutoff_past", "--restart-clock"); got != x.past {
			t.Errorf("at %v: past = %t, want %t", x.now, got, x.past)
		}
	}
}

func TestInterleavedArmsHaveNoOrderWarning(t *testing.T) {
	data := mutate(t, func(m anyMap) {
		list := m["matrix"].([]any)
		var mixed []any
		for i := range 24 {
			mixed = append(mixed, list[i], list[i+24])
		}
		m["matrix"] = mixed
	})
	problems, warnings := examine(data, exampleNow)
	if len(problems) > 0 || hasWarning(warnings, "arms_not_interleaved", "") {
		t.Errorf("problems %v, warnings %v", problems, warnings)
	}
}

func TestASmallPlanOfOneArmIsLegal(t *testing.T) {
	data := mutate(t, func(m anyMap) {
		m["matrix"] = m["matrix"].([]any)[2:10]
		m["controls"] = anyMap{}
		for _, key := range []string{"metrics", "stops", "quality_ledger", "publication", "restoration", "telemetry", "owner", "authorization", "deadline_starts"} {
			delete(m, key)
		}
		for i := range 8 {
			for _, flag := range []string{"--engine", "--gpu", "--max-tokens", "--reasoning-effort", "--temperature", "--top-p", "--output", "--confirm", "--response-words", "--controlled-output-policy"} {
				dropFlag(m, i, flag)
			}
		}
	})
	if problems, _ := examine(data, exampleNow); len(problems) > 0 {
		t.Errorf("problems = %v", problems)
	}
}

func TestNumbersOfControlsAndArgvCompareByValue(t *testing.T) {
	data := mutate(t, func(m anyMap) {
		for i := range 48 {
			setFlag(m, i, "--temperature", "6e-1")
		}
	})
	if problems, _ := examine(data, exampleNow); len(problems) > 0 {
		t.Errorf("problems = %v", problems)
	}
}

func TestRulesFollowEligibilityAndStops(t *testing.T) {
	p := mustDecode(t, mutate(t, func(m anyMap) {
		m["eligibility"] = []any{"exact usage counts"}
		delete(m["stops"].(anyMap), stopIdentityDrift)
	}))
	if got := p.Rules(); len(got) != 1 || got[0] != RuleUsageExact {
		t.Errorf("rules = %v", got)
	}
	for sentence, ids := range Sentences {
		for _, id := range ids {
			found := false
			for _, r := range Rules {
				found = found || r.ID == id
			}
			if !found {
				t.Errorf("%q demands %s, which is no rule", sentence, id)
			}
		}
	}
}

func TestAllowedFinishReasons(t *testing.T) {
	p := mustDecode(t, exampleJSON(t))
	if got := AllowedFinishReasons(p); len(got) != 1 || got[0] != "stop" {
		t.Errorf("default = %v", got)
	}
	wide := mustDecode(t, mutate(t, func(m anyMap) { m["controls"].(anyMap)["allowed_finish_reasons"] = []any{"stop", "length"} }))
	if got := AllowedFinishReasons(wide); len(got) != 2 || got[1] != "length" {
		t.Errorf("widened = %v", got)
	}
}

func TestParseEndpoint(t *testing.T) {
	for _, x := range []struct {
		text string
		want Endpoint
		loop bool
	}{
		{"http://127.0.0.1:31841/v1", Endpoint{Scheme: "http", Host: "127.0.0.1", Port: 31841, Path: "/v1"}, true},
		{"http://localhost/v1/", Endpoint{Scheme: "http", Host: "localhost", Port: 80, Path: "/v1"}, true},
		{"https://gpu-1.example.com", Endpoint{Scheme: "https", Host: "gpu-1.example.com", Port: 443}, false},
		{"http://[::1]:8000/v1", Endpoint{Scheme: "http", Host: "::1", Port: 8000, Path: "/v1"}, true},
		{"http://[host-b]:8000/v1", Endpoint{Scheme: "http", Host: "[host-b]", Port: 8000, Path: "/v1", Redacted: true}, false},
	} {
		got, err := ParseEndpoint(x.text)
		if err != nil || got != x.want || got.Loopback() != x.loop {
			t.Errorf("%s = %+v %v", x.text, got, err)
		}
	}
	for _, text := range []string{"", "ftp://h/", "http://", "http://h:0/", "http://h:65536/", "http://h:x/", "http://u@h/", "http://h/?q=1", "http://h/#f", "http://a b/", "http://[::1/", "http://[zz]/", "http://[host-a]x/", "http://-h/"} {
		if e, err := ParseEndpoint(text); err == nil {
			t.Errorf("%q = %+v, want an error", text, e)
		}
	}
}
