package ingesttest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"assay/collect/plan"
)

// CellSpec describes one cell of a test plan. Zero values get defaults:
// natural workload, concurrency 1, one request, context 10240, seed 1000 plus
// the cell's position.
type CellSpec struct {
	ID, Arm       string
	Workload      string
	Concurrency   int64
	Requests      int64
	Context       int64
	Seed          int64
	ResponseWords int64  // above 0: a controlled cell
	Policy        string // "" is strict for controlled cells, else observe
	Warmup        bool
	NoCanaries    bool
}

func (c CellSpec) withDefaults(position int) CellSpec {
	if c.Workload == "" {
		c.Workload = plan.WorkloadNatural
		if c.ResponseWords > 0 {
			c.Workload = plan.WorkloadControlled
		}
	}
	if c.Policy == "" {
		c.Policy = plan.PolicyObserve
		if c.ResponseWords > 0 {
			c.Policy = plan.PolicyStrict
		}
	}
	c.Concurrency = max(c.Concurrency, 1)
	c.Requests = max(c.Requests, 1)
	if c.Context == 0 {
		c.Context = 10240
	}
	if c.Seed == 0 {
		c.Seed = 1000 + int64(position)
	}
	return c
}

// Plan decodes a frozen plan with these cells, all eligibility sentences and
// one model for each arm.
func Plan(t testing.TB, cells ...CellSpec) *plan.Plan {
	t.Helper()
	return PlanNamed(t, "test-campaign", cells...)
}

// PlanNamed is Plan with a campaign id.
func PlanNamed(t testing.TB, campaign string, cells ...CellSpec) *plan.Plan {
	t.Helper()
	p, problems := plan.Decode(planJSON(t, campaign, cells))
	if p == nil || len(problems) > 0 {
		t.Fatalf("test plan does not decode: %v", problems)
	}
	return p
}

func planJSON(t testing.TB, campaign string, cells []CellSpec) []byte {
	t.Helper()
	models := map[string]any{}
	matrix := []any{}
	for i, c := range cells {
		c = c.withDefaults(i)
		models[c.Arm] = map[string]any{"model": "model-" + c.Arm, "engine": "vllm-" + c.Arm, "port": 8000, "repository": "example/" + c.Arm, "revision": "0"}
		matrix = append(matrix, map[string]any{
			"id": c.ID, "arm": c.Arm, "workload": c.Workload, "concurrency": c.Concurrency,
			"planned_context_tokens": c.Context, "requests": c.Requests, "seed": c.Seed,
			"outer_timeout_seconds": 1200, "excluded_warmup": c.Warmup, "argv": argv(c),
		})
	}
	text, err := json.Marshal(map[string]any{
		"campaign_id": campaign, "status": plan.StatusFrozen, "metric_profile": plan.ProfileServingComparison,
		"created_at": "2026-01-01T00:00:00Z", "frozen_at": "2026-01-01T00:00:00Z",
		"dispatch_clock_started_at": "2026-01-01T00:00:00Z", "absolute_request_cutoff": "2026-01-01T04:30:00Z",
		"absolute_campaign_deadline": "2026-01-01T06:00:00Z",
		"request_cutoff_seconds":     16200, "load_bound_seconds": 3600, "restoration_reserve_seconds": 5400, "total_bound_seconds": 21600,
		"controls": map[string]any{"max_tokens": 16384, "model_max_len": 327680, "request_canaries": true},
		"eligibility": []string{
			"all planned requests completed and terminal", "exact usage counts", "allowed finish reason and visible output",
			"own canary first; no foreign marker; complete capture", "controlled cells additionally exact repeated output",
			"same measurement_protocol in compared arms",
		},
		"stops":  map[string]any{"identity_or_protocol_drift": "no further requests"},
		"models": models, "matrix": matrix,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func argv(c CellSpec) []string {
	flags := []string{"bench", "capacity",
		"--base-url", "http://127.0.0.1:8000/v1", "--model", "model-" + c.Arm, "--engine", "vllm-" + c.Arm,
		"--requests", strconv.FormatInt(c.Requests, 10), "--concurrency", strconv.FormatInt(c.Concurrency, 10),
		"--ctx-tokens", strconv.FormatInt(c.Context, 10), "--seed", strconv.FormatInt(c.Seed, 10),
		"--max-tokens", "16384", "--prompt-cache-mode", plan.CacheUnique, "--controlled-output-policy", c.Policy,
		"--max-model-len", "327680", "--reasoning-effort", "max", "--temperature", "0.6", "--top-p", "0.95",
		"--timeout", "900", "--response-words", strconv.FormatInt(c.ResponseWords, 10)}
	if !c.NoCanaries {
		flags = append(flags, "--request-canaries")
	}
	return flags
}

// Marker is the canary of one request of a cell.
func Marker(c plan.Cell, index int64) string {
	return fmt.Sprintf("ASSAY_REQ_%d_%05d", c.Seed, index)
}
