package bundle

// StatementType and PredicateType are the two type fields of every manifest.
// The shape is that of an in-toto Statement v1
// (https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md) with
// size and region added to each subject.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "urn:assay:finding-evidence:v1"
)

// Format is the present value of Predicate.Format. Any change of rendered bytes
// raises it; bundles of an older format are not rendered again.
const Format = 1

// Manifest is the root of a bundle: it lists every published file and says what
// the finding is, what it was made from, and what it does not claim.
type Manifest struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is one published file.
type Subject struct {
	Name   string `json:"name"` // relative to the findings folder, slash-separated
	Digest Digest `json:"digest"`
	Size   int64  `json:"size"` // bytes; of the region where there is one
	// Region is "generated" for the narrative, whose digest and size cover the
	// bytes up to and including the end-mark line; otherwise empty.
	Region Region `json:"region,omitempty"`
}

// Digest is a set of one digest, as in-toto has it.
type Digest struct {
	SHA256 string `json:"sha256"` // 64 lower-case hexadecimal digits
}

// Region says which part of a file a subject covers.
type Region string

// RegionGenerated is the part of the narrative up to and including EndMark's line.
const RegionGenerated Region = "generated"

// Predicate holds everything the manifest says beyond its list of files.
type Predicate struct {
	Format    int64      `json:"format"`
	Finding   Finding    `json:"finding"`
	Roles     []Role     `json:"roles"`              // all of RoleNames, in that order
	PlanLock  *PlanLock  `json:"planLock,omitempty"` // nil for a finding without a plan
	Inputs    []Input    `json:"inputs"`
	External  []External `json:"external"`
	Tally     Tally      `json:"tally"`
	Sanitizer *Sanitizer `json:"sanitizer,omitempty"` // nil when no sanitizer ran
	Limits    Limits     `json:"limits"`
	NonClaims []string   `json:"nonClaims"`
	Builder   Builder    `json:"builder"`
}

// Finding names the finding. ID is YYYY-MM-DD-slug, the narrative's name
// without ".md"; Supersedes is the ID of the finding it corrects, or empty.
type Finding struct {
	ID         string `json:"id"`
	Kind       Kind   `json:"kind"`
	Supersedes string `json:"supersedes,omitempty"`
}

// Kind says where a finding's numbers come from.
type Kind string

// The closed list of kinds.
const (
	KindMeasured      Kind = "measured"       // our own requests to a real engine
	KindDerived       Kind = "derived"        // retained facts, no request sent
	KindExternalPrior Kind = "external-prior" // somebody else's results
	KindSimulated     Kind = "simulated"      // our own requests to the simulated engine
)

// Role says what became of one of the ten parts of the evidence.
type Role struct {
	Role   RoleName  `json:"role"`
	State  RoleState `json:"state"`
	Files  []string  `json:"files"`            // names as in Subject.Name; only when retained
	Reason string    `json:"reason,omitempty"` // required unless retained
}

// RoleName is one of RoleNames.
type RoleName string

// The ten roles.
const (
	RoleEvidenceIndex      RoleName = "evidence-index"
	RoleSourceRegistry     RoleName = "source-registry"
	RoleWorkloadManifest   RoleName = "workload-manifest"
	RoleRunPlan            RoleName = "run-plan"
	RoleConfiguration      RoleName = "configuration-and-identity"
	RoleRawRunEvidence     RoleName = "raw-run-evidence"
	RoleFailures           RoleName = "failures-and-friction"
	RoleRestoration        RoleName = "restoration"
	RoleDecisionSummary    RoleName = "decision-summary"
	RolePublicationSummary RoleName = "publication-summary"
)

// RoleNames returns the ten roles in the order every manifest lists them.
func RoleNames() []RoleName {
	return []RoleName{
		RoleEvidenceIndex, RoleSourceRegistry, RoleWorkloadManifest, RoleRunPlan,
		RoleConfiguration, RoleRawRunEvidence, RoleFailures, RoleRestoration,
		RoleDecisionSummary, RolePublicationSummary,
	}
}

// RoleState says whether a role's evidence is in the bundle.
type RoleState string

// The closed list of role states. A missing role blocks every claim that needs it.
const (
	RoleRetained      RoleState = "retained"
	RoleNotApplicable RoleState = "not-applicable"
	RoleMissing       RoleState = "missing"
)

// PlanLock carries the two digests that were written before the first request,
// and when (wall clock, nanoseconds since 1970 UTC).
type PlanLock struct {
	CanonicalSHA256 string `json:"canonicalSha256"` // of the private plan
	RedactedSHA256  string `json:"redactedSha256"`  // of the plan as published
	LockedAtUnixNs  int64  `json:"lockedAtUnixNs"`
}

// Input is something the finding was made from that is not in the bundle: a
// file of the raw run or a retained artifact.
type Input struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`           // bytes
	Rows   *int64 `json:"rows,omitempty"` // nil for what has no rows
}

// External is evidence too large to publish, with its address when it is public.
type External struct {
	Name           string `json:"name"`
	SHA256         string `json:"sha256"`
	Size           int64  `json:"size"` // bytes
	Rows           *int64 `json:"rows,omitempty"`
	URL            string `json:"url,omitempty"`
	RetentionOwner string `json:"retentionOwner,omitempty"`
	RetentionTerm  string `json:"retentionTerm,omitempty"`
}

// Tally counts the campaign's cells and requests.
type Tally struct {
	Cells    Counts `json:"cells"`
	Requests Counts `json:"requests"`
}

// Counts are the five counts every finding prints.
type Counts struct {
	Planned    int64 `json:"planned"`
	Dispatched int64 `json:"dispatched"`
	Terminal   int64 `json:"terminal"`
	Passing    int64 `json:"passing"`
	Eligible   int64 `json:"eligible"`
}

// Sanitizer records what was taken out before publication: counts, never values.
type Sanitizer struct {
	RulesSHA256  string           `json:"rulesSha256"`
	Dropped      map[string]int64 `json:"dropped"`      // by column or JSON path
	Replaced     map[string]int64 `json:"replaced"`     // by rule
	AllowEntries int64            `json:"allowEntries"` // entries in sanitize.json
}

// Limits states the size limits in bytes and who approved exceeding them.
type Limits struct {
	FileBytes   int64       `json:"fileBytes"`
	BundleBytes int64       `json:"bundleBytes"`
	Files       int64       `json:"files"`
	Exceptions  []Exception `json:"exceptions"`
}

// Exception lets the named files exceed the limits. Bytes is the exact sum of
// their sizes; they do not count towards the bundle's limit.
type Exception struct {
	Files    []string `json:"files"` // names as in Subject.Name
	Bytes    int64    `json:"bytes"`
	Reason   string   `json:"reason"`
	Approver string   `json:"approver"`
}

// Builder names the program that rendered the bundle. It is informative: a
// regeneration takes it from the published manifest.
type Builder struct {
	Module      string            `json:"module"`
	Version     string            `json:"version"`
	VCSRevision string            `json:"vcsRevision,omitempty"`
	VCSModified *bool             `json:"vcsModified,omitempty"` // nil where the build does not know
	Go          string            `json:"go"`
	DuckDB      string            `json:"duckdb"`
	GOARCH      string            `json:"goarch"`
	Deps        map[string]string `json:"deps"` // module path to version
}
