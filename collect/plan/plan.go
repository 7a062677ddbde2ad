package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// StatusFrozen is the only status a plan may be run with.
const StatusFrozen = "frozen-before-dispatch"

// ProfileServingComparison is the only metric profile known so far.
const ProfileServingComparison = "serving-comparison/v1"

// Workloads, a closed set.
const (
	WorkloadWarmup     = "warmup"
	WorkloadNatural    = "natural"
	WorkloadControlled = "controlled"
	WorkloadEdge       = "capacity-edge"
)

// CacheUnique is the only prompt cache mode: every prompt of an arm starts with
// its own marker, so that no two share a prefix.
const CacheUnique = "unique"

// Policies of the controlled output, a closed set.
const (
	PolicyStrict  = "strict"  // the exact output is required
	PolicyObserve = "observe" // the output is recorded, nothing is required
)

// Plan is a decoded frozen plan. Bounds are whole seconds, as the file has them.
type Plan struct {
	Bytes []byte // the file's exact bytes; everything else follows from them

	CampaignID     string
	Status         string
	MetricProfile  string
	SourceRevision string // "" when not stated
	Owner          string // "" when not stated
	Authorization  string // "" when not stated
	Telemetry      string // "" when not stated
	DeadlineStarts string // "" when not stated

	CreatedAt              time.Time // UTC
	FrozenAt               time.Time // UTC
	DispatchClockStartedAt time.Time // UTC
	AbsoluteRequestCutoff  time.Time // UTC; no request starts at or after it
	// AbsoluteCampaignDeadline is the end of the campaign, restoration included. UTC.
	AbsoluteCampaignDeadline time.Time

	RequestCutoffSeconds      int64
	LoadBoundSeconds          int64
	RestorationReserveSeconds int64
	TotalBoundSeconds         int64

	Controls      Controls
	Models        map[string]Model // by arm
	Cells         []Cell           // the matrix, in file order
	Eligibility   []string         // sentences; see Sentences
	Metrics       []string
	Publication   Entries
	QualityLedger Entries
	Restoration   Restoration
	Stops         Entries

	// Extra has the top-level keys this package does not know, as canonical JSON.
	// They are part of the digest.
	Extra map[string]json.RawMessage

	unknown []string // pointers of unknown keys below the top level
}

// Entry is one member of an object, in file order. A value that is not a string
// is its canonical JSON.
type Entry struct{ Key, Text string }

// Entries is an object read as an ordered list.
type Entries []Entry

// Get returns the text under key.
func (e Entries) Get(key string) (string, bool) {
	for _, x := range e {
		if x.Key == key {
			return x.Text, true
		}
	}
	return "", false
}

// Controls are the request and method controls the plan states for every cell.
// A nil pointer is a control the plan does not state.
type Controls struct {
	MaxTokens                 *int64
	ModelMaxLen               *int64
	NaturalRequestsPerCell    *int64
	ControlledRequestsPerCell *int64
	PromptTokenTolerance      *int64
	PromptCacheMode           *string
	ReasoningEffort           *string
	PrefixCacheFlush          *bool
	RequestCanaries           *bool
	SameSeedPerMatchedCell    *bool
	Temperature               *json.Number
	TopP                      *json.Number
	AllowedFinishReasons      []string // nil when not stated; see AllowedFinishReasons

	// Entries has every control the plan states, prose and unknown ones included.
	Entries Entries
}

// Model is what an arm serves.
type Model struct {
	Container  string // "" when not stated
	Engine     string // "" when not stated
	Model      string // served model name
	Port       int64  // TCP port of the endpoint
	Registry   string // "" when not stated
	Repository string // "" when not stated
	Revision   string // "" when not stated
	Entries    Entries
}

// Restoration is how the original service comes back.
type Restoration struct {
	ArgvSource              string // "" when not stated
	CandidateLoadArgvSource string // "" when not stated
	PreviewPrecondition     string // "" when not stated
	RetainedContainerID     string // "" when not stated
	Postconditions          []string
	Entries                 Entries
}

// Cell is one cell of the matrix.
type Cell struct {
	ID                   string
	Arm                  string
	Workload             string
	Concurrency          int64
	PlannedContextTokens int64 // a label, not a token count
	Requests             int64
	Seed                 int64 // seeds the workload; never sent
	OuterTimeoutSeconds  int64 // bounds the whole cell
	ExcludedWarmup       bool
	Argv                 []string
	Request              RequestControls // Argv, decoded
}

// RequestControls are a cell's argv. They decide what is sent. A pointer is nil
// when argv does not give the flag, and then the field is not sent.
type RequestControls struct {
	BaseURL                string
	Model                  string
	Engine                 string // "" when not given
	GPU                    string // "" when not given
	Requests               int64
	Concurrency            int64
	CtxTokens              int64
	Seed                   int64
	MaxModelLen            int64
	TimeoutSeconds         int64  // idle limit of one request
	ResponseWords          int64  // 0 asks for the natural answer, and is the value when not given
	MaxTokens              *int64 // sent as max_tokens
	PromptCacheMode        string
	RequestCanaries        bool
	ControlledOutputPolicy string       // "" when not given
	ReasoningEffort        *string      // sent as reasoning_effort
	Temperature            *json.Number // argv's own text, sent as temperature
	TopP                   *json.Number // argv's own text, sent as top_p
	Output                 string       // "" when not given; never opened
	Confirm                bool
}

// PromptMarginTokens is kept free between prompt and max_tokens, for the chat
// template and the tokenizer (measurement.md section 2).
const PromptMarginTokens = 1024

// MinPromptCharacters is the shortest prompt a plan may ask for
// (measurement.md section 2).
const MinPromptCharacters = 1024

// PromptCharacters is the exact length of a prompt under these controls, in
// ASCII characters: three for each token of the context label, capped so that
// prompt, max_tokens and margin fit the model's length. Without --max-tokens
// only the margin is kept free. It can be negative; Check reports anything
// below MinPromptCharacters.
func (r RequestControls) PromptCharacters() int64 {
	room := r.MaxModelLen - PromptMarginTokens
	if r.MaxTokens != nil {
		room -= *r.MaxTokens
	}
	return 3 * min(r.CtxTokens, room)
}

// Arms lists the arms in order of first appearance in the matrix.
func (p *Plan) Arms() []string {
	var arms []string
	for i := range p.Cells {
		if !slices.Contains(arms, p.Cells[i].Arm) {
			arms = append(arms, p.Cells[i].Arm)
		}
	}
	return arms
}

// Cell returns the first cell with this id.
func (p *Plan) Cell(id string) (Cell, bool) {
	for i := range p.Cells {
		if p.Cells[i].ID == id {
			return p.Cells[i], true
		}
	}
	return Cell{}, false
}

// TotalRequests is the number of requests the plan asks for, warm-ups included.
func (p *Plan) TotalRequests() int64 {
	var n int64
	for i := range p.Cells {
		n += p.Cells[i].Requests
	}
	return n
}

// AllowedFinishReasons is the set a request may finish with: "stop", unless
// controls.allowed_finish_reasons states another.
func AllowedFinishReasons(p *Plan) []string {
	if len(p.Controls.AllowedFinishReasons) > 0 {
		return slices.Clone(p.Controls.AllowedFinishReasons)
	}
	return []string{"stop"}
}

// BytesSHA256 is the SHA-256 of the file's exact bytes, in lower-case hex.
func (p *Plan) BytesSHA256() string { return hexSHA256(p.Bytes) }

// Digest is the SHA-256, in lower-case hex, of the plan's canonical JSON. Key
// order, white space, escapes and the spelling of a number do not change it;
// any value does, unknown keys included. It is "" when Bytes is not JSON, which
// a plan that Decode returned cannot be.
func (p *Plan) Digest() string {
	root, ok, _ := parseJSON(p.Bytes)
	if !ok {
		return ""
	}
	return hexSHA256(canonical(root))
}

// measuredMembers are the top-level members that say what a campaign measures.
// Names, dates, bounds of the whole campaign and prose are not among them.
var measuredMembers = []string{"controls", "eligibility", "matrix", "metric_profile", "models"}

// MeasuredDigest is the SHA-256, in lower-case hex, of what the plan measures:
// its matrix, controls, models, eligibility and metric profile, without the
// places that may change between two runs of one thing (--base-url and --output
// of a cell, port and registry of a model). Plans with the same one are repeats
// of each other. It is "" when Bytes is not a JSON object.
func (p *Plan) MeasuredDigest() string {
	root, ok, _ := parseJSON(p.Bytes)
	if !ok || root.kind != kindObject {
		return ""
	}
	measured := node{kind: kindObject}
	for _, key := range measuredMembers {
		if value, ok := root.member(key); ok {
			measured.keys, measured.items = append(measured.keys, key), append(measured.items, withoutPlaces(value))
		}
	}
	return hexSHA256(canonical(measured))
}

// withoutPlaces copies a value and leaves out where things are.
func withoutPlaces(n node) node {
	out := node{kind: n.kind, text: n.text}
	for i := 0; i < len(n.items); i++ {
		switch {
		case n.kind == kindObject && (n.keys[i] == "port" || n.keys[i] == "registry"):
			continue
		case n.kind == kindArray && (n.items[i].text == "--base-url" || n.items[i].text == "--output"):
			i++ // its value
			continue
		case n.kind == kindObject:
			out.keys = append(out.keys, n.keys[i])
		}
		out.items = append(out.items, withoutPlaces(n.items[i]))
	}
	return out
}

func hexSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
