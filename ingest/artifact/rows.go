package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Kind says what a file is, a closed list.
type Kind string

// Kinds of artifacts.
const (
	KindBenchmark  Kind = "benchmark"        // one run of a load against an endpoint
	KindAggregate  Kind = "aggregate"        // several runs combined by their tool
	KindComparison Kind = "comparison"       // figures of two or more runs side by side
	KindCounters   Kind = "counters"         // deltas of engine counters
	KindHardware   Kind = "hardware_samples" // GPU or host readings
	KindQuality    Kind = "quality"          // answers judged, not timed
	KindSummary    Kind = "summary"          // a summary over other artifacts
	KindUnknown    Kind = "unknown"          // JSON, or named so, that no importer knows
	KindOther      Kind = "other"            // not JSON, by name and by content
)

// Percentile rules of the tools, a closed list. The functions are in stats.go.
const (
	ruleNearestRank = "nearest_rank"     // 1-based rank ceil(q*n/100)
	ruleRoundHalf   = "round_half_even"  // 0-based index round((n-1)*q/100), halves to even
	ruleLinear      = "linear"           // interpolated at (n-1)*q/100
	ruleCumulative  = "cumulative_share" // first value whose share of values up to it reaches q/100
)

// Which event a tool's prefill and generation are bounded by.
const (
	boundaryVisible = "first_visible" // first visible content
	boundaryAny     = "first_any"     // first output, reasoning or visible
	boundaryChunk   = "first_chunk"   // first chunk, which may carry no text
)

// notSent is a control that the file says was not sent, apart from one it does
// not name.
const notSent = "not_sent"

// Artifact is a row of artifacts: one run of one file. An empty text and a nil
// pointer are null: the file does not say. Columns are described in schema.sql.
type Artifact struct {
	key

	Part  int64  `col:"part"` // position of the run in the file, from 0
	Bytes int64  `col:"bytes"`
	Kind  Kind   `col:"kind"`
	State string `col:"state"` // loaded, named or refused

	Schema         string `col:"schema_label"`
	Tool           string `col:"tool"`
	ToolVersion    string `col:"tool_version"`
	Protocol       string `col:"protocol"`
	LabelProtocol  string `col:"label_protocol"`
	ProtocolBasis  string `col:"protocol_basis"`
	Shape          string `col:"shape"`
	PercentileRule string `col:"percentile_rule"`
	Boundary       string `col:"first_output_boundary"`
	RawAvailable   bool   `col:"raw_available"`
	SummaryOnly    *bool  `col:"summary_only"`

	RunID  string `col:"run_id"`
	Model  string `col:"model"`
	Engine string `col:"engine"`
	GPU    string `col:"gpu"`

	StartedUnixNs   *int64   `col:"started_unix_ns"`
	FinishedUnixNs  *int64   `col:"finished_unix_ns"`
	TimePrecisionNs *int64   `col:"time_precision_ns"`
	WallMs          *float64 `col:"wall_ms"`

	Requests            *int64 `col:"requests"`
	Completed           *int64 `col:"completed"`
	Failed              *int64 `col:"failed"`
	ResponsesReceived   *int64 `col:"responses_received"`
	PerformanceEligible *bool  `col:"performance_eligible"`

	Concurrency         *int64 `col:"concurrency"`
	RequestRate         string `col:"request_rate"`
	ContextTokens       *int64 `col:"context_tokens"`
	ContextDistribution string `col:"context_distribution"`
	MaxContextTokens    *int64 `col:"max_context_tokens"`
	MaxTokens           *int64 `col:"max_tokens"`
	ContextSeed         *int64 `col:"context_seed"`
	PromptCacheMode     string `col:"prompt_cache_mode"`
	SharedPrefixTokens  *int64 `col:"shared_prefix_tokens"`
	SharedPrefixBurst   *bool  `col:"shared_prefix_burst"`
	RequestCanaries     *bool  `col:"request_canaries"`
	ResponseWords       *int64 `col:"response_words"`
	OutputPolicy        string `col:"output_policy"`
	ThinkingMode        string `col:"thinking_mode"`
	ReasoningEffort     string `col:"reasoning_effort"`
	Temperature         string `col:"temperature"`
	TopP                string `col:"top_p"`

	Extra   string `col:"extra"`   // JSON object of top-level scalars that no column holds
	Missing string `col:"missing"` // JSON object: column to why it is null
}

// key names the artifact that a row belongs to.
type key struct {
	Artifact string `col:"artifact"`
	SHA256   string `col:"sha256"`
	Path     string `col:"path"`
}

// Request is a row of artifact_requests. Times are milliseconds as the tool
// states them, or its seconds times 1,000.
type Request struct {
	Artifact  string `col:"artifact"`
	Index     int64  `col:"request_index"`
	RequestID string `col:"request_id"`
	Phase     string `col:"phase"`  // profiling or warmup
	Status    string `col:"status"` // completed, failed, cancelled or incomplete

	FailureClass string `col:"failure_class"`
	ErrorType    string `col:"error_type"`
	ErrorSHA256  string `col:"error_sha256"`

	StartUnixNs         *int64   `col:"start_unix_ns"`
	EndUnixNs           *int64   `col:"end_unix_ns"`
	FirstAnyMs          *float64 `col:"t_first_any_ms"`
	FirstVisibleMs      *float64 `col:"t_first_visible_ms"`
	E2EMs               *float64 `col:"e2e_ms"`
	E2EBasis            string   `col:"e2e_basis"` // stated or reconstructed
	ElapsedMs           *float64 `col:"elapsed_ms"`
	GenerationMs        *float64 `col:"generation_ms"`
	VisibleGenerationMs *float64 `col:"visible_generation_ms"`
	TPOTMs              *float64 `col:"tpot_ms"`
	DecodeTokS          *float64 `col:"decode_tok_s"`
	PrefillTokS         *float64 `col:"effective_prefill_tok_s"`
	GapsMeanMs          *float64 `col:"gap_mean_ms"`
	Gaps                *int64   `col:"gaps"`

	PlannedContextTokens *int64 `col:"planned_context_tokens"`
	PromptTokens         *int64 `col:"prompt_tokens"`
	OutputTokens         *int64 `col:"output_tokens"`
	VisibleTokens        *int64 `col:"visible_tokens"`
	ReasoningTokens      *int64 `col:"reasoning_tokens"`
	CachedTokens         *int64 `col:"cached_tokens"`
	TokenSource          string `col:"output_token_source"`
	ContentChunks        *int64 `col:"content_chunks"`
	ReasoningChunks      *int64 `col:"reasoning_chunks"`

	FinishReasons   string `col:"finish_reasons"` // JSON list
	StreamTerminal  *bool  `col:"stream_terminal"`
	CanaryFirst     *bool  `col:"canary_first"`
	ForeignMarkers  *int64 `col:"foreign_markers"`
	CaptureComplete *bool  `col:"capture_complete"`
	WordsRequested  *int64 `col:"words_requested"`
	CodeWords       *int64 `col:"code_words"`
	ExtraWords      *int64 `col:"extra_words"`
	WordsExact      *bool  `col:"words_exact"`

	DerivedStated int64 `col:"derived_stated"` // fields of the row that follow from its others
	DerivedExact  int64 `col:"derived_exact"`
	DerivedClose  int64 `col:"derived_close"`

	Missing string `col:"missing"`
}

// Agreement says how a stated statistic compares with the rows, a closed list.
type Agreement string

// Agreements.
const (
	AgreeExact     Agreement = "exact"         // the same number, or both null
	AgreeClose     Agreement = "close"         // within relTolerance of each other
	AgreeDifferent Agreement = "different"     // also a problem
	AgreeUnknown   Agreement = "not_evaluable" // the file lacks what it would take
)

// Stat is a row of artifact_stats: one figure a file states.
type Stat struct {
	Artifact   string    `col:"artifact"`
	SourceKey  string    `col:"source_key"` // the tool's own name of the figure
	Scope      string    `col:"scope"`      // which requests it is over
	Metric     string    `col:"metric"`
	Stat       string    `col:"stat"`
	Unit       string    `col:"unit"`
	Value      *float64  `col:"value"`
	N          *int64    `col:"n"`
	Definition string    `col:"definition"`
	Recomputed *float64  `col:"recomputed"`
	Agreement  Agreement `col:"agreement"`
	Reason     string    `col:"reason"`
}

// identify gives an artifact its key: a digest of what names it.
func identify(sum, path string, part int64) key {
	d := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", sum, path, part))
	return key{Artifact: hex.EncodeToString(d[:8]), SHA256: sum, Path: path}
}

// reasons encodes why columns are null; none is "{}".
func reasons(m map[string]string) string {
	if len(m) == 0 {
		return "{}"
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("artifact: encode reasons: %v", err)) // texts always encode
	}
	return string(text)
}

// finite is a pointer to a number, or nil for NaN and the infinities.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

func ptr[T any](v T) *T { return &v }

// scaled is a number in another unit; nil stays nil.
func scaled(p *float64, by float64) *float64 {
	if p == nil {
		return nil
	}
	return finite(*p * by)
}

// private says that a free field of a file may hold an address or a secret.
func private(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"url", "host", "endpoint_addr", "token_", "api_key", "apikey", "header", "secret", "password", "command", "path", "prompt", "text"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
