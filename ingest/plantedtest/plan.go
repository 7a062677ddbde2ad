package plantedtest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"assay/collect/plan"
)

// sentences are the eligibility sentences of the seed plan and the rules each
// demands of requests and cells.
var sentences = []struct {
	text  string
	rules []string
}{
	{"all planned requests completed and terminal", []string{ruleComplete, ruleTerminal}},
	{"exact usage counts", []string{ruleUsage}},
	{"allowed finish reason and visible output", []string{ruleFinish, ruleVisible}},
	{"own canary first; no foreign marker; complete capture", []string{ruleCanary, ruleForeign, ruleCapture}},
	{"controlled cells additionally exact repeated output", []string{ruleControlled}},
	{"same measurement_protocol in compared arms", nil},
}

// demanded are the rules of scope request and cell that the plan demands.
func (c *Campaign) demanded() map[string]bool {
	rules := map[string]bool{}
	for _, s := range sentences {
		for _, stated := range c.sentences {
			for _, rule := range s.rules {
				rules[rule] = rules[rule] || stated == s.text
			}
		}
	}
	if c.drift {
		rules[ruleIdentity] = true
	}
	for rule, on := range rules {
		if !on {
			delete(rules, rule)
		}
	}
	return rules
}

// freeze makes the frozen plan.
func (c *Campaign) freeze() error {
	models, matrix := map[string]any{}, []any{}
	for _, x := range c.cells {
		models[x.arm] = map[string]any{"model": "model-" + x.arm, "engine": "vllm-" + x.arm, "port": 8000, "repository": "example/" + x.arm, "revision": "0"}
		matrix = append(matrix, map[string]any{
			"id": x.id, "arm": x.arm, "workload": x.workload, "concurrency": x.concurrency,
			"planned_context_tokens": x.context, "requests": x.requests, "seed": x.seed,
			"outer_timeout_seconds": x.outerSeconds, "excluded_warmup": x.warmup, "argv": x.argv(),
		})
	}
	controls := map[string]any{"max_tokens": 16384, "model_max_len": 327680, "request_canaries": true, "prompt_token_tolerance": c.tolerance}
	if c.allowed != nil {
		controls["allowed_finish_reasons"] = c.allowed
	}
	stops := map[string]any{"deadline": "cancel and keep"}
	if c.drift {
		stops["identity_or_protocol_drift"] = "no further requests"
	}
	text, err := json.Marshal(map[string]any{
		"campaign_id": c.ID, "status": plan.StatusFrozen, "metric_profile": plan.ProfileServingComparison,
		"created_at": "2026-01-01T00:00:00Z", "frozen_at": "2026-01-01T00:00:00Z",
		"dispatch_clock_started_at": "2026-01-01T00:00:00Z", "absolute_request_cutoff": "2026-01-01T04:30:00Z",
		"absolute_campaign_deadline": "2026-01-01T06:00:00Z",
		"request_cutoff_seconds":     16200, "load_bound_seconds": 3600, "restoration_reserve_seconds": 5400, "total_bound_seconds": 21600,
		"controls": controls, "eligibility": c.sentences, "stops": stops, "models": models, "matrix": matrix,
	})
	if err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	p, problems := plan.Decode(text)
	if p == nil || len(problems) > 0 {
		return fmt.Errorf("the generated plan does not decode: %v", problems)
	}
	c.plan = p
	return nil
}

func (x *cell) argv() []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	flags := []string{"bench", "capacity",
		"--base-url", "http://127.0.0.1:8000/v1", "--model", "model-" + x.arm, "--engine", "vllm-" + x.arm,
		"--requests", number(x.requests), "--concurrency", number(x.concurrency),
		"--ctx-tokens", number(x.context), "--seed", number(x.seed), "--max-tokens", number(x.maxTokens),
		"--prompt-cache-mode", plan.CacheUnique, "--controlled-output-policy", x.policy, "--max-model-len", "327680",
		"--temperature", x.temperature, "--top-p", x.topP, "--timeout", number(x.idleSeconds), "--response-words", number(x.words)}
	if x.effort != "" {
		flags = append(flags, "--reasoning-effort", x.effort)
	}
	if x.canaries {
		flags = append(flags, "--request-canaries")
	}
	return flags
}
