package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// SpecSchema names the format of a campaign spec.
const SpecSchema = "assay/plan-spec/v1"

// maxSpecBytes bounds a spec. The example has 6 kB.
const maxSpecBytes = 1 << 20

// spec is a short campaign description in YAML. Its keys are those of the plan
// where the meaning is the same.
type spec struct {
	Schema                 string  `yaml:"schema"`
	CampaignID             string  `yaml:"campaign_id"`
	MetricProfile          string  `yaml:"metric_profile"`
	SourceRevision         *string `yaml:"source_revision"`
	Owner                  *string `yaml:"owner"`
	Authorization          *string `yaml:"authorization"`
	Telemetry              *string `yaml:"telemetry"`
	DeadlineStarts         *string `yaml:"deadline_starts"`
	CreatedAt              *string `yaml:"created_at"`
	FrozenAt               *string `yaml:"frozen_at"`
	DispatchClockStartedAt *string `yaml:"dispatch_clock_started_at"`

	RequestCutoffSeconds      int64 `yaml:"request_cutoff_seconds"`
	RestorationReserveSeconds int64 `yaml:"restoration_reserve_seconds"`
	LoadBoundSeconds          int64 `yaml:"load_bound_seconds"`

	Controls specControls `yaml:"controls"`
	Arms     []specArm    `yaml:"arms"`

	Command               []string    `yaml:"command"`
	GPU                   *string     `yaml:"gpu"`
	RequestTimeoutSeconds int64       `yaml:"request_timeout_seconds"`
	OutputFolder          *string     `yaml:"output_folder"`
	Cells                 []specGroup `yaml:"cells"`

	Eligibility   []string         `yaml:"eligibility"`
	Metrics       []string         `yaml:"metrics"`
	Stops         specTexts        `yaml:"stops"`
	QualityLedger specTexts        `yaml:"quality_ledger"`
	Publication   specTexts        `yaml:"publication"`
	Restoration   *specRestoration `yaml:"restoration"`
}

// specTexts is an object of texts.
type specTexts map[string]string

type specControls struct {
	MaxTokens                 *int64      `yaml:"max_tokens"`
	ModelMaxLen               *int64      `yaml:"model_max_len"`
	NaturalRequestsPerCell    *int64      `yaml:"natural_requests_per_cell"`
	ControlledRequestsPerCell *int64      `yaml:"controlled_requests_per_cell"`
	PromptTokenTolerance      *int64      `yaml:"prompt_token_tolerance"`
	PromptCacheMode           *string     `yaml:"prompt_cache_mode"`
	ReasoningEffort           *string     `yaml:"reasoning_effort"`
	PrefixCacheFlush          *bool       `yaml:"prefix_cache_flush"`
	RequestCanaries           *bool       `yaml:"request_canaries"`
	SameSeedPerMatchedCell    *bool       `yaml:"same_seed_per_matched_cell"`
	Temperature               *specNumber `yaml:"temperature"`
	TopP                      *specNumber `yaml:"top_p"`
	AllowedFinishReasons      []string    `yaml:"allowed_finish_reasons"`
	CapacityEdge              *string     `yaml:"capacity_edge"`
	ComparisonScope           *string     `yaml:"comparison_scope"`
	ContextLabels             *string     `yaml:"context_labels"`
	Hardware                  *string     `yaml:"hardware"`
	Statistics                *string     `yaml:"statistics"`
}

type specArm struct {
	Name       string  `yaml:"name"`
	Model      string  `yaml:"model"`
	Port       int64   `yaml:"port"`
	BaseURL    *string `yaml:"base_url"` // http://127.0.0.1:PORT/v1 when not given
	Engine     *string `yaml:"engine"`
	Container  *string `yaml:"container"`
	Registry   *string `yaml:"registry"`
	Repository *string `yaml:"repository"`
	Revision   *string `yaml:"revision"`
}

// specGroup is cells that differ in context and concurrency only.
type specGroup struct {
	Workload               string        `yaml:"workload"`
	Name                   *string       `yaml:"name"` // in the cell id; the workload when not given
	Contexts               []int64       `yaml:"contexts"`
	Concurrency            []int64       `yaml:"concurrency"`
	Requests               int64         `yaml:"requests"`
	SeedBase               int64         `yaml:"seed_base"`
	SeedStep               *int64        `yaml:"seed_step"` // from context to context; 10 when not given
	ResponseWords          int64         `yaml:"response_words"`
	ControlledOutputPolicy *string       `yaml:"controlled_output_policy"` // observe when not given
	OuterTimeoutSeconds    int64         `yaml:"outer_timeout_seconds"`
	OuterTimeouts          []specTimeout `yaml:"outer_timeouts"`
}

// specTimeout is an exception to a group's outer timeout. Without a concurrency
// it holds for all of them; a later one wins.
type specTimeout struct {
	Context     int64  `yaml:"context"`
	Concurrency *int64 `yaml:"concurrency"`
	Seconds     int64  `yaml:"seconds"`
}

type specRestoration struct {
	ArgvSource              *string  `yaml:"argv_source"`
	CandidateLoadArgvSource *string  `yaml:"candidate_load_argv_source"`
	PreviewPrecondition     *string  `yaml:"preview_precondition"`
	RetainedContainerID     *string  `yaml:"retained_container_id"`
	Postconditions          []string `yaml:"postconditions"`
}

// specNumber keeps the text of a number, because argv repeats it.
type specNumber string

// UnmarshalYAML implements yaml.BytesUnmarshaler.
func (n *specNumber) UnmarshalYAML(text []byte) error {
	s := strings.TrimSpace(string(text))
	if root, ok, problems := parseJSON([]byte(s)); !ok || len(problems) > 0 || root.kind != kindNumber {
		return errors.New("expected a number")
	}
	*n = specNumber(s)
	return nil
}

// decodeSpec reads the YAML strictly: unknown and repeated keys are problems.
func decodeSpec(data []byte) (spec, []Problem) {
	var s spec
	if len(data) > maxSpecBytes {
		return s, []Problem{{Code: "too_large", Detail: fmt.Sprintf("the spec is %d bytes; the limit is %d", len(data), maxSpecBytes)}}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return s, []Problem{specProblem(err)}
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return s, []Problem{{Code: "bad_spec", Detail: "expected one YAML document"}}
	}
	// An alias of an alias of an alias can stand for more text than any memory holds.
	if len(ast.Filter(ast.AnchorType, file.Docs[0].Body)) > 0 {
		return s, []Problem{{Code: "bad_spec", Detail: "anchors and aliases are not read; write the value out"}}
	}
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return s, []Problem{specProblem(err)}
	}
	if s.Schema != SpecSchema {
		return s, []Problem{{Code: "unknown_schema", Pointer: "/schema", Detail: "expected " + SpecSchema}}
	}
	return s, nil
}

// specProblem keeps the place and the reason, and drops the excerpt of the file
// that the library adds.
func specProblem(err error) Problem {
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil {
		position := located.GetToken().Position
		return Problem{Code: "bad_spec", Detail: fmt.Sprintf("line %d column %d: %s", position.Line, position.Column, located.GetMessage())}
	}
	return Problem{Code: "bad_spec", Detail: strings.SplitN(err.Error(), "\n", 2)[0]}
}
