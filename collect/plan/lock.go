package plan

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// LockSchema names the format of plan.lock.json.
const LockSchema = "assay/plan-lock/v1"

// Lock ties a run to its plan. It is written and synced before the first request.
type Lock struct {
	CanonicalSHA256         string // Plan.Digest
	BytesSHA256             string // Plan.BytesSHA256
	RedactedCanonicalSHA256 string // digest of what Redact returns
	LockedAtUnixNs          int64  // wall clock, nanoseconds
	CollectorVersion        string
}

// NewLock computes the digests of p. It fails when p cannot be redacted.
func NewLock(p *Plan, lockedAtUnixNs int64, collectorVersion string) (Lock, error) {
	redacted, _, err := Redact(p)
	if err != nil {
		return Lock{}, fmt.Errorf("lock plan: %w", err)
	}
	return Lock{
		CanonicalSHA256:         p.Digest(),
		BytesSHA256:             p.BytesSHA256(),
		RedactedCanonicalSHA256: redacted.Digest(),
		LockedAtUnixNs:          lockedAtUnixNs,
		CollectorVersion:        collectorVersion,
	}, nil
}

// Encode is the lock file: pretty JSON with sorted keys and a last newline.
func (l Lock) Encode() []byte {
	str := func(s string) node { return node{kind: kindString, text: s} }
	return pretty(node{
		kind: kindObject,
		keys: []string{"schema", "canonical_sha256", "bytes_sha256", "redacted_canonical_sha256", "locked_at_unix_ns", "collector_version"},
		items: []node{
			str(LockSchema), str(l.CanonicalSHA256), str(l.BytesSHA256), str(l.RedactedCanonicalSHA256),
			{kind: kindNumber, text: strconv.FormatInt(l.LockedAtUnixNs, 10)}, str(l.CollectorVersion),
		},
	})
}

var hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// DecodeLock reads a lock file strictly: every key once, no other key, digests
// of 64 lower-case hex digits. The error lists everything that is wrong.
func DecodeLock(data []byte) (Lock, error) {
	root, ok, problems := parseJSON(data)
	if !ok {
		return Lock{}, problemsError("plan lock", problems)
	}
	d := &decoder{problems: problems}
	f := d.fields(root, "")
	if schema := f.str("schema", required); schema != "" && schema != LockSchema {
		d.add("unknown_schema", "/schema", "expected %s", LockSchema)
	}
	l := Lock{
		CanonicalSHA256:         f.digest("canonical_sha256"),
		BytesSHA256:             f.digest("bytes_sha256"),
		RedactedCanonicalSHA256: f.digest("redacted_canonical_sha256"),
		LockedAtUnixNs:          f.must("locked_at_unix_ns", bounds{0, math.MaxInt64}),
		CollectorVersion:        f.str("collector_version", required),
	}
	for _, key := range f.unknown() {
		d.add("unknown_key", at("", key), "a lock has no such key")
	}
	if len(d.problems) > 0 {
		return Lock{}, problemsError("plan lock", d.problems)
	}
	return l, nil
}

func (f *fields) digest(key string) string {
	n, ok := f.get(key, kindString, required)
	if ok && !hexDigest.MatchString(n.text) {
		f.d.add("bad_digest", at(f.pointer, key), "expected 64 lower-case hex digits")
	}
	return n.text
}

func problemsError(what string, problems []Problem) error {
	text := ""
	for _, p := range problems {
		text += "\n  " + p.String()
	}
	return fmt.Errorf("decode %s: %d problems:%s", what, len(problems), text)
}
