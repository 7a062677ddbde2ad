package plan

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"assay/collect/private"
)

func TestRedactingTheRealPlanChangesNoValueAndKeepsItValid(t *testing.T) {
	p := seedPlan(t)
	redacted, counts, err := Redact(p)
	if err != nil {
		t.Fatal(err)
	}
	if counts.Total() != 0 || redacted.Digest() != p.Digest() {
		t.Errorf("the real plan is already redacted, but %+v was replaced", counts)
	}
	if problems, _ := Check(redacted, exampleNow); len(problems) > 0 {
		t.Errorf("problems = %v", problems)
	}
}

// privatePlan is a plan as an operator has it, with everything that may not be published.
func privatePlan(t *testing.T) *Plan {
	data := mutate(t, func(m anyMap) {
		m["authorization"] = "granted by op on 16 October"
		m["restoration"] = anyMap{
			"retained_container_id": strings.Repeat("0123456789abcdef", 4),
			"argv_source":           "/home/op/plans/restore.json",
			"preview_precondition":  "ask op@example.com; see /srv/op/notes.txt, C:\\Users\\op\\n.txt and ~/n.txt on gpu-7.example.net",
		}
		m["owner"] = "op with Bearer abcdefghijklmnop0123 and OPENAI_API_KEY=abc123def on 192.168.7.9"
		m["later"] = anyMap{"api_key": "hunter2", "image_digest": strings.Repeat("ab", 32), "container": "run " + strings.Repeat("0123456789abcdef", 4)}
		for i := range 48 {
			argv := cellAt(m, i)["argv"].([]any)
			argv[0] = "/home/op/bench/.venv/bin/python"
			if i < 24 {
				setFlag(m, i, "--base-url", "http://gpu-7.example.net:31841/v1")
			} else {
				setFlag(m, i, "--base-url", "http://10.0.0.5:31843/v1")
			}
			setFlag(m, i, "--output", "/mnt/big disk/out/"+cellAt(m, i)["id"].(string)+".json")
		}
	})
	return mustDecode(t, data)
}

func TestRedactRemovesWhatIsPrivate(t *testing.T) {
	p := privatePlan(t)
	redacted, counts, err := Redact(p)
	if err != nil {
		t.Fatal(err)
	}
	text := string(redacted.Bytes)
	for _, secret := range []string{"/home", "/srv", "/mnt", "Users", "gpu-7", "10.0.0.5", "192.168", "op@", "granted", "0123456789abcdef0123", "abcdefghijklmnop", "abc123def", "hunter2", "~/"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is still there", secret)
		}
	}
	for _, kept := range []string{
		`"[PRIVATE_OPERATOR_ROOT]/bench/.venv/bin/python"`, `"[PRIVATE_OPERATOR_ROOT]/out/baseline-natural-ctx10240-c1.json"`,
		`"http://[host-a]:31841/v1"`, `"http://[host-b]:31843/v1"`, `on [host-a]"`, `"retained_container_id": "[container-1]"`, `"run [container-1]"`,
		`"authorization": "[REDACTED]"`, `"api_key": "[REDACTED]"`, strings.Repeat("ab", 32), "[email-1]", "Bearer [REDACTED]", "[PRIVATE_OPERATOR_ROOT]/plans/restore.json",
	} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is missing", kept)
		}
	}
	want := private.Counts{
		private.MachinePath: 48*2 + 4, private.SecretValue: 3, private.BearerToken: 1, private.PrivateHost: 48 + 1, private.PrivateAddress: 1,
		private.ContainerID: 2, private.Email: 1,
	}
	if !maps.Equal(counts, want) {
		t.Errorf("counts = %v, want %v", counts, want)
	}
	if problems, warnings := Check(redacted, exampleNow); len(problems) > 0 || !hasWarning(warnings, "host_redacted", "baseline") {
		t.Errorf("problems = %v", problems)
	}
}

func TestRedactIsIdempotentAndFollowsTheValue(t *testing.T) {
	p := privatePlan(t)
	once, _, err := Redact(p)
	if err != nil {
		t.Fatal(err)
	}
	twice, counts, err := Redact(once)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(once.Bytes, twice.Bytes) || counts.Total() != 0 {
		t.Errorf("a second pass replaced %+v", counts)
	}
	root, _, _ := parseJSON(p.Bytes)
	compact, _, err := Redact(mustDecode(t, canonical(root)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(once.Bytes, compact.Bytes) {
		t.Error("two spellings of one plan redact differently")
	}
	if !bytes.HasSuffix(once.Bytes, []byte("}\n")) {
		t.Error("no last newline")
	}
}

func TestRedactHandlesHostNamesThatLookLikePlaceholders(t *testing.T) {
	p := mustDecode(t, mutate(t, func(m anyMap) {
		m["owner"] = "host-a and [host-a] and gpu, not gpus or gpu-1"
		for i := range 48 {
			port := "31841"
			if i >= 24 {
				port = "31843"
			}
			host := "host-a"
			if i >= 24 {
				host = "gpu"
			}
			setFlag(m, i, "--base-url", "http://"+host+":"+port+"/v1")
		}
	}))
	once, _, err := Redact(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := "[host-b] and [host-a] and [host-c], not gpus or gpu-1"; once.Owner != want {
		t.Errorf("owner = %q, want %q", once.Owner, want)
	}
	twice, _, err := Redact(once)
	if err != nil || !bytes.Equal(once.Bytes, twice.Bytes) {
		t.Errorf("a second pass changes the plan: %v", err)
	}
}

func TestRedactFailsWhenTwoKeysBecomeOne(t *testing.T) {
	p := mustDecode(t, mutate(t, func(m anyMap) { m["x"] = anyMap{"/home/a/k": 1, "/home/b/k": 2} }))
	if _, _, err := Redact(p); err == nil || strings.Contains(err.Error(), "/home") {
		t.Errorf("error = %v", err)
	}
}

func TestRedactReplacesAnIPv6Endpoint(t *testing.T) {
	p := mustDecode(t, mutate(t, func(m anyMap) {
		m["owner"] = "runs on fd00::7"
		for i := range 24 {
			setFlag(m, i, "--base-url", "http://[fd00::7]:31841/v1")
		}
	}))
	redacted, _, err := Redact(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := redacted.Cells[0].Request.BaseURL; got != "http://[host-a]:31841/v1" || redacted.Owner != "runs on [host-a]" {
		t.Errorf("base URL %q, owner %q", got, redacted.Owner)
	}
}

func BenchmarkRedact(b *testing.B) {
	p := mustDecode(b, exampleJSON(b))
	for b.Loop() {
		if _, _, err := Redact(p); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRedactFailsOnAPlanWithoutBytes(t *testing.T) {
	if _, _, err := Redact(&Plan{}); err == nil {
		t.Error("no error")
	}
}
