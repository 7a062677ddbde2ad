package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Load reads and decodes one plan file, of at most 64 MiB. The error says the
// file could not be read; what is wrong inside it is in the problems.
func Load(path string) (*Plan, []Problem, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open plan: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read plan %s: %w", path, err)
	}
	p, problems := Decode(data)
	return p, problems, nil
}

// Decode reads a plan and lists every problem of form at once: what is not JSON,
// repeated keys, missing keys, wrong types, numbers out of range, argv that
// cannot be read. Check then looks at what the values say. The plan is nil when
// the bytes are not a JSON object; with other problems it holds what could be
// read, so that Check can add to the list. The bytes are copied.
func Decode(data []byte) (*Plan, []Problem) {
	root, ok, problems := parseJSON(data)
	if !ok {
		return nil, problems
	}
	d := &decoder{problems: problems}
	if root.kind != kindObject {
		d.wrongType("", kindObject, root.kind)
		return nil, d.problems
	}
	p := d.plan(root)
	p.Bytes = bytes.Clone(data)
	return p, d.problems
}

func (d *decoder) plan(root node) *Plan {
	f := d.fields(root, "")
	p := &Plan{
		CampaignID:     f.str("campaign_id", required),
		Status:         f.str("status", required),
		MetricProfile:  f.str("metric_profile", required),
		SourceRevision: f.str("source_revision", optional),
		Owner:          f.str("owner", optional),
		Authorization:  f.str("authorization", optional),
		Telemetry:      f.str("telemetry", optional),
		DeadlineStarts: f.str("deadline_starts", optional),

		CreatedAt:                f.instant("created_at"),
		FrozenAt:                 f.instant("frozen_at"),
		DispatchClockStartedAt:   f.instant("dispatch_clock_started_at"),
		AbsoluteRequestCutoff:    f.instant("absolute_request_cutoff"),
		AbsoluteCampaignDeadline: f.instant("absolute_campaign_deadline"),

		RequestCutoffSeconds:      f.must("request_cutoff_seconds", secondCount),
		LoadBoundSeconds:          f.must("load_bound_seconds", anyCount),
		RestorationReserveSeconds: f.must("restoration_reserve_seconds", anyCount),
		TotalBoundSeconds:         f.must("total_bound_seconds", secondCount),

		Eligibility: f.strings("eligibility", required),
		Metrics:     f.strings("metrics", optional),
	}
	p.Controls = d.controls(f)
	p.Models = d.models(f)
	p.Cells = d.cells(f, p)
	p.Restoration = d.restoration(f)
	p.Publication = entriesOf(f, "publication")
	p.QualityLedger = entriesOf(f, "quality_ledger")
	p.Stops = entriesOf(f, "stops")
	p.Extra = extra(f)
	return p
}

func entriesOf(f *fields, key string) Entries {
	nested, _ := f.object(key, optional)
	return nested.entries()
}

func extra(f *fields) map[string]json.RawMessage {
	kept := map[string]json.RawMessage{}
	for _, key := range f.unknown() {
		n, _ := f.n.member(key)
		kept[key] = canonical(n)
	}
	return kept
}

// proseControls are controls a reader understands and nothing acts on.
var proseControls = []string{"capacity_edge", "comparison_scope", "context_labels", "hardware", "statistics"}

func (d *decoder) controls(top *fields) Controls {
	f, ok := top.object("controls", required)
	if !ok {
		return Controls{}
	}
	c := Controls{
		MaxTokens:                 f.optionalInteger("max_tokens", tokenCount),
		ModelMaxLen:               f.optionalInteger("model_max_len", tokenCount),
		NaturalRequestsPerCell:    f.optionalInteger("natural_requests_per_cell", indexCount),
		ControlledRequestsPerCell: f.optionalInteger("controlled_requests_per_cell", indexCount),
		PromptTokenTolerance:      f.optionalInteger("prompt_token_tolerance", anyCount),
		PromptCacheMode:           f.optionalString("prompt_cache_mode"),
		ReasoningEffort:           f.optionalString("reasoning_effort"),
		PrefixCacheFlush:          f.optionalBool("prefix_cache_flush"),
		RequestCanaries:           f.optionalBool("request_canaries"),
		SameSeedPerMatchedCell:    f.optionalBool("same_seed_per_matched_cell"),
		Temperature:               f.optionalNumber("temperature"),
		TopP:                      f.optionalNumber("top_p"),
		AllowedFinishReasons:      f.strings("allowed_finish_reasons", optional),
		Entries:                   f.entries(),
	}
	for _, key := range proseControls {
		f.str(key, optional)
	}
	return c
}

func (d *decoder) models(top *fields) map[string]Model {
	f, _ := top.object("models", required)
	models := map[string]Model{}
	for _, arm := range f.n.keys {
		m, ok := f.object(arm, required)
		if !ok {
			continue
		}
		models[arm] = Model{
			Container:  m.str("container", optional),
			Engine:     m.str("engine", optional),
			Model:      m.str("model", required),
			Port:       m.must("port", portRange),
			Registry:   m.str("registry", optional),
			Repository: m.str("repository", optional),
			Revision:   m.str("revision", optional),
			Entries:    m.entries(),
		}
	}
	return models
}

func (d *decoder) restoration(top *fields) Restoration {
	f, ok := top.object("restoration", optional)
	if !ok {
		return Restoration{}
	}
	return Restoration{
		ArgvSource:              f.str("argv_source", optional),
		CandidateLoadArgvSource: f.str("candidate_load_argv_source", optional),
		PreviewPrecondition:     f.str("preview_precondition", optional),
		RetainedContainerID:     f.str("retained_container_id", optional),
		Postconditions:          f.strings("postconditions", optional),
		Entries:                 f.entries(),
	}
}

func (d *decoder) cells(top *fields, p *Plan) []Cell {
	matrix, ok := top.get("matrix", kindArray, required)
	if !ok {
		return nil
	}
	cells := make([]Cell, 0, len(matrix.items))
	for i, item := range matrix.items {
		f := d.fields(item, at("/matrix", i))
		c := Cell{
			ID:                   f.str("id", required),
			Arm:                  f.str("arm", required),
			Workload:             f.str("workload", required),
			Concurrency:          f.must("concurrency", positive),
			PlannedContextTokens: f.must("planned_context_tokens", tokenCount),
			Requests:             f.must("requests", indexCount),
			Seed:                 f.must("seed", seedRange),
			OuterTimeoutSeconds:  f.must("outer_timeout_seconds", secondCount),
			ExcludedWarmup:       f.boolean("excluded_warmup"),
			Argv:                 f.strings("argv", required),
		}
		if argv, ok := item.member("argv"); ok && argv.kind == kindArray && len(argv.items) == len(c.Argv) {
			c.Request = d.requestControls(c.Argv, at(f.pointer, "argv"))
		}
		for _, key := range f.unknown() {
			p.unknown = append(p.unknown, at(f.pointer, key))
		}
		cells = append(cells, c)
	}
	return cells
}
