package plan

import (
	"strings"
	"testing"
)

func TestLockRoundTripsAndHoldsTheDigests(t *testing.T) {
	p := privatePlan(t)
	l, err := NewLock(p, 1792234551522595001, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	redacted, _, err := Redact(p)
	if err != nil {
		t.Fatal(err)
	}
	want := Lock{p.Digest(), p.BytesSHA256(), redacted.Digest(), 1792234551522595001, "v1.2.3"}
	if l != want || l.CanonicalSHA256 == l.RedactedCanonicalSHA256 {
		t.Errorf("lock = %+v, want %+v", l, want)
	}
	again, err := DecodeLock(l.Encode())
	if err != nil || again != l {
		t.Errorf("decoded lock = %+v %v", again, err)
	}
	if again.Encode() == nil || string(again.Encode()) != string(l.Encode()) {
		t.Error("encoding is not stable")
	}
}

func TestLockOfAPlanWithoutBytesFails(t *testing.T) {
	if l, err := NewLock(&Plan{}, 1, "v"); err == nil {
		t.Errorf("lock = %+v", l)
	}
}

func TestDecodeLockIsStrict(t *testing.T) {
	l, err := NewLock(mustDecode(t, exampleJSON(t)), 5, "v1")
	if err != nil {
		t.Fatal(err)
	}
	good := string(l.Encode())
	for _, x := range []struct{ name, old, new, in string }{
		{"not JSON", "{", "{{", "not_json"},
		{"not an object", good, "[]", "wrong_type"},
		{"other schema", LockSchema, "assay/plan-lock/v2", "unknown_schema"},
		{"unknown key", `"schema"`, `"note": 1, "schema"`, "unknown_key"},
		{"repeated key", `"schema"`, `"locked_at_unix_ns": 5, "schema"`, "duplicate_key"},
		{"short digest", l.BytesSHA256, l.BytesSHA256[1:], "bad_digest"},
		{"upper-case digest", l.BytesSHA256, strings.ToUpper(l.BytesSHA256), "bad_digest"},
		{"missing time", `"locked_at_unix_ns": 5,`, "", "missing_key"},
		{"negative time", `"locked_at_unix_ns": 5`, `"locked_at_unix_ns": -5`, "number_out_of_range"},
		{"trailing data", "}\n", "}\n{}", "trailing_data"},
	} {
		t.Run(x.name, func(t *testing.T) {
			data := strings.Replace(good, x.old, x.new, 1)
			if got, err := DecodeLock([]byte(data)); err == nil || !strings.Contains(err.Error(), x.in) {
				t.Errorf("lock = %+v, error = %v, want %s", got, err, x.in)
			}
		})
	}
}
