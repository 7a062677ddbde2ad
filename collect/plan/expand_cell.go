package plan

import (
	"fmt"
	"path"
	"strconv"
)

// defaultSeedStep leaves room for concurrencies below ten between two contexts.
const defaultSeedStep = 10

// specCell is where a cell stands in the spec.
type specCell struct {
	arm                  specArm
	group                specGroup
	nth                  int64 // of the context in its group
	context, concurrency int64
}

func (c specCell) id() string {
	name := c.group.Workload
	if c.group.Name != nil {
		name = *c.group.Name
	}
	return fmt.Sprintf("%s-%s-ctx%d-c%d", c.arm.Name, name, c.context, c.concurrency)
}

func (c specCell) seed() int64 {
	step := int64(defaultSeedStep)
	if c.group.SeedStep != nil {
		step = *c.group.SeedStep
	}
	return c.group.SeedBase + step*c.nth + c.concurrency
}

// outerTimeoutSeconds is the group's, or that of the last exception that matches.
func (c specCell) outerTimeoutSeconds() int64 {
	seconds := c.group.OuterTimeoutSeconds
	for _, o := range c.group.OuterTimeouts {
		if o.Context == c.context && (o.Concurrency == nil || *o.Concurrency == c.concurrency) {
			seconds = o.Seconds
		}
	}
	return seconds
}

// matrix lists the cells: arm by arm, then group, context and concurrency.
func (s *spec) matrix() node {
	list := node{kind: kindArray}
	for _, arm := range s.Arms {
		for _, g := range s.Cells {
			for i, context := range g.Contexts {
				for _, concurrency := range g.Concurrency {
					list.items = append(list.items, s.cell(specCell{arm, g, int64(i), context, concurrency}))
				}
			}
		}
	}
	return list
}

func (s *spec) cell(c specCell) node {
	o := newObject()
	o.str("id", c.id())
	o.str("arm", c.arm.Name)
	o.str("workload", c.group.Workload)
	o.integer("concurrency", c.concurrency)
	o.integer("planned_context_tokens", c.context)
	o.integer("requests", c.group.Requests)
	o.integer("seed", c.seed())
	o.integer("outer_timeout_seconds", c.outerTimeoutSeconds())
	o.boolean("excluded_warmup", c.group.Workload == WorkloadWarmup)
	o.strings("argv", s.argv(c))
	return o.n
}

// arguments builds an argv, leaving out flags without a value.
type arguments []string

func (a *arguments) str(name, value string) { *a = append(*a, name, value) }

func (a *arguments) integer(name string, value int64) { a.str(name, strconv.FormatInt(value, 10)) }

func (a *arguments) optional(name string, value *string) {
	if value != nil {
		a.str(name, *value)
	}
}

// argv writes the request controls of one cell.
func (s *spec) argv(c specCell) []string {
	k, g := s.Controls, c.group
	a := append(arguments{}, s.Command...)
	a.str("--base-url", c.arm.baseURL())
	a.str("--model", c.arm.Model)
	a.optional("--engine", c.arm.Engine)
	a.optional("--gpu", s.GPU)
	a.integer("--requests", g.Requests)
	a.integer("--concurrency", c.concurrency)
	a.integer("--ctx-tokens", c.context)
	a.integer("--seed", c.seed())
	if k.MaxTokens != nil {
		a.integer("--max-tokens", *k.MaxTokens)
	}
	a.optional("--prompt-cache-mode", k.PromptCacheMode)
	if k.RequestCanaries != nil && *k.RequestCanaries {
		a = append(a, "--request-canaries")
	}
	policy := PolicyObserve
	if g.ControlledOutputPolicy != nil {
		policy = *g.ControlledOutputPolicy
	}
	a.str("--controlled-output-policy", policy)
	if k.ModelMaxLen != nil {
		a.integer("--max-model-len", *k.ModelMaxLen)
	}
	a.optional("--reasoning-effort", k.ReasoningEffort)
	a.optional("--temperature", (*string)(k.Temperature))
	a.optional("--top-p", (*string)(k.TopP))
	a.integer("--timeout", s.RequestTimeoutSeconds)
	a.integer("--response-words", g.ResponseWords)
	if s.OutputFolder != nil {
		a.str("--output", path.Join(*s.OutputFolder, c.arm.Name, c.id()+".json"))
	}
	return append(a, "--confirm")
}

func (a specArm) baseURL() string {
	if a.BaseURL != nil {
		return *a.BaseURL
	}
	return fmt.Sprintf("http://127.0.0.1:%d/v1", a.Port)
}

func (s *spec) models() node {
	o := newObject()
	for _, arm := range s.Arms {
		m := newObject()
		m.optionalStr("container", arm.Container)
		m.optionalStr("engine", arm.Engine)
		m.str("model", arm.Model)
		m.integer("port", arm.Port)
		m.optionalStr("registry", arm.Registry)
		m.optionalStr("repository", arm.Repository)
		m.optionalStr("revision", arm.Revision)
		o.put(arm.Name, m.n)
	}
	return o.n
}

func (k specControls) object() node {
	o := newObject()
	o.optionalInteger("max_tokens", k.MaxTokens)
	o.optionalInteger("model_max_len", k.ModelMaxLen)
	o.optionalInteger("natural_requests_per_cell", k.NaturalRequestsPerCell)
	o.optionalInteger("controlled_requests_per_cell", k.ControlledRequestsPerCell)
	o.optionalInteger("prompt_token_tolerance", k.PromptTokenTolerance)
	o.optionalStr("prompt_cache_mode", k.PromptCacheMode)
	o.optionalStr("reasoning_effort", k.ReasoningEffort)
	o.optionalBoolean("prefix_cache_flush", k.PrefixCacheFlush)
	o.optionalBoolean("request_canaries", k.RequestCanaries)
	o.optionalBoolean("same_seed_per_matched_cell", k.SameSeedPerMatchedCell)
	o.optionalNumber("temperature", k.Temperature)
	o.optionalNumber("top_p", k.TopP)
	if k.AllowedFinishReasons != nil {
		o.strings("allowed_finish_reasons", k.AllowedFinishReasons)
	}
	o.optionalStr("capacity_edge", k.CapacityEdge)
	o.optionalStr("comparison_scope", k.ComparisonScope)
	o.optionalStr("context_labels", k.ContextLabels)
	o.optionalStr("hardware", k.Hardware)
	o.optionalStr("statistics", k.Statistics)
	return o.n
}

func (r specRestoration) object() node {
	o := newObject()
	o.optionalStr("argv_source", r.ArgvSource)
	o.optionalStr("candidate_load_argv_source", r.CandidateLoadArgvSource)
	o.optionalStr("preview_precondition", r.PreviewPrecondition)
	o.optionalStr("retained_container_id", r.RetainedContainerID)
	if r.Postconditions != nil {
		o.strings("postconditions", r.Postconditions)
	}
	return o.n
}
