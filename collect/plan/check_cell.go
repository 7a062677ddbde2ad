package plan

import (
	"encoding/json"
	"fmt"
	"slices"
)

var workloads = []string{WorkloadWarmup, WorkloadNatural, WorkloadControlled, WorkloadEdge}

// cell checks one cell against itself, its model and the demanded rules.
func (c *checker) cell(i int) {
	cell := &c.p.Cells[i]
	if cell.Workload != "" && !slices.Contains(workloads, cell.Workload) {
		c.problem("workload_unknown", cellPointer(i, "workload"), "the workload %q is not one of %q", cell.Workload, workloads)
	}
	if (cell.Workload == WorkloadWarmup) != cell.ExcludedWarmup && cell.Workload != "" {
		c.problem("warmup_flag", cellPointer(i, "excluded_warmup"), "excluded_warmup is %t in a cell of workload %q", cell.ExcludedWarmup, cell.Workload)
	}
	c.ownArgv(i)
	c.model(i)
	c.words(i)
	c.prompt(i)
	if !cell.Request.RequestCanaries && slices.Contains(c.p.Rules(), RuleCanaryFirst) && len(cell.Argv) > 0 {
		c.problem("canary_missing", cellPointer(i, "argv"), "the eligibility asks for the own canary first, but argv lacks --request-canaries")
	}
}

// ownArgv checks argv against the cell's own fields. A zero is a value Decode
// could not read and has reported.
func (c *checker) ownArgv(i int) {
	cell := &c.p.Cells[i]
	for _, x := range []struct {
		flag, key  string
		argv, cell int64
	}{
		{"--requests", "requests", cell.Request.Requests, cell.Requests},
		{"--concurrency", "concurrency", cell.Request.Concurrency, cell.Concurrency},
		{"--ctx-tokens", "planned_context_tokens", cell.Request.CtxTokens, cell.PlannedContextTokens},
		{"--seed", "seed", cell.Request.Seed, cell.Seed},
	} {
		if x.argv != x.cell && x.argv != 0 && x.cell != 0 {
			c.problem("argv_contradicts_cell", cellPointer(i, "argv"), "%s is %d, but the cell's %s is %d", x.flag, x.argv, x.key, x.cell)
		}
	}
}

func (c *checker) model(i int) {
	cell := &c.p.Cells[i]
	if cell.Arm == "" {
		return
	}
	if !safeName.MatchString(cell.Arm) {
		c.problem("bad_name", cellPointer(i, "arm"), "an arm has %s", safeNameRule)
	}
	m, ok := c.p.Models[cell.Arm]
	if !ok {
		c.problem("arm_unknown", cellPointer(i, "arm"), "models has no arm %q", cell.Arm)
		return
	}
	r, argv := cell.Request, cellPointer(i, "argv")
	if r.Model != m.Model && r.Model != "" && m.Model != "" {
		c.problem("argv_contradicts_model", argv, "--model is %q, but models/%s/model is %q", r.Model, cell.Arm, m.Model)
	}
	if r.Engine != m.Engine && r.Engine != "" && m.Engine != "" {
		c.problem("argv_contradicts_model", argv, "--engine is %q, but models/%s/engine is %q", r.Engine, cell.Arm, m.Engine)
	}
	if r.BaseURL == "" {
		return
	}
	endpoint, err := ParseEndpoint(r.BaseURL)
	switch {
	case err != nil:
		c.problem("bad_base_url", argv, "--base-url: %v", err)
	case endpoint.Port != m.Port && m.Port != 0:
		c.problem("argv_contradicts_model", argv, "--base-url has port %d, but models/%s/port is %d", endpoint.Port, cell.Arm, m.Port)
	}
}

func (c *checker) words(i int) {
	r, argv := c.p.Cells[i].Request, cellPointer(i, "argv")
	switch c.p.Cells[i].Workload {
	case WorkloadControlled:
		if r.ResponseWords == 0 {
			c.problem("argv_contradicts_workload", argv, "a controlled cell must give --response-words of at least 1")
		}
		if r.ControlledOutputPolicy == "" {
			c.problem("argv_contradicts_workload", argv, "a controlled cell must give --controlled-output-policy")
		}
	case WorkloadNatural:
		if r.ResponseWords != 0 {
			c.problem("argv_contradicts_workload", argv, "a natural cell asks for --response-words %d; it must be 0", r.ResponseWords)
		}
	}
}

func (c *checker) prompt(i int) {
	r := c.p.Cells[i].Request
	if r.CtxTokens == 0 || r.MaxModelLen == 0 {
		return
	}
	if n := r.PromptCharacters(); n < MinPromptCharacters {
		c.problem("prompt_too_short", cellPointer(i, "argv"),
			"3 x min(--ctx-tokens, --max-model-len - --max-tokens - %d) = %d characters; a prompt needs %d", PromptMarginTokens, n, MinPromptCharacters)
	}
}

// controls checks argv against the controls the plan states for all cells.
func (c *checker) controls(i int) {
	cell, k := &c.p.Cells[i], &c.p.Controls
	if len(cell.Argv) == 0 {
		return
	}
	r := cell.Request
	c.control(i, "max_tokens", textOf(k.MaxTokens), textOf(r.MaxTokens))
	c.control(i, "model_max_len", textOf(k.ModelMaxLen), textOf(nonZero(r.MaxModelLen)))
	c.control(i, "reasoning_effort", textOf(k.ReasoningEffort), textOf(r.ReasoningEffort))
	c.control(i, "temperature", numberText(k.Temperature), numberText(r.Temperature))
	c.control(i, "top_p", numberText(k.TopP), numberText(r.TopP))
	c.control(i, "prompt_cache_mode", textOf(k.PromptCacheMode), textOf(nonZero(r.PromptCacheMode)))
	c.control(i, "request_canaries", textOf(k.RequestCanaries), textOf(&r.RequestCanaries))
	switch cell.Workload {
	case WorkloadNatural:
		c.requestsPerCell(i, "natural_requests_per_cell", k.NaturalRequestsPerCell)
	case WorkloadControlled:
		c.requestsPerCell(i, "controlled_requests_per_cell", k.ControlledRequestsPerCell)
	}
}

func (c *checker) control(i int, key, stated, argv string) {
	switch {
	case stated == "" || stated == argv:
	case argv == "":
		c.problem("argv_contradicts_controls", cellPointer(i, "argv"), "controls/%s is %s, but argv does not give it", key, stated)
	default:
		c.problem("argv_contradicts_controls", cellPointer(i, "argv"), "controls/%s is %s, but argv gives %s", key, stated, argv)
	}
}

func (c *checker) requestsPerCell(i int, key string, stated *int64) {
	if n := c.p.Cells[i].Requests; stated != nil && n != 0 && n != *stated {
		c.problem("requests_contradict_controls", cellPointer(i, "requests"), "controls/%s is %d, but the cell has %d requests", key, *stated, n)
	}
}

func textOf[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}

func nonZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// numberText compares numbers by value: argv may say 0.60 where controls say 0.6.
func numberText(n *json.Number) string {
	if n == nil {
		return ""
	}
	text, _ := canonicalNumber(n.String())
	return text
}
