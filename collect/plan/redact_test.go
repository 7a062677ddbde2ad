package plan

import (
	"bytes"
	"strings"
	"testing"
)

func TestRedactingTheRealPlanChangesNoValueAndKeepsItValid(t *testing.T) {
	p := seedPlan(t)
	redacted, counts, err := Redact(p)
	if err != nil {
		t.Fatal(err)
	}
	if counts != (RedactionCounts{}) || redacted.Digest() != p.Digest() {
		t.Errorf("the real plan is already redacted, but %+v was replaced", counts)
	}
	if problems, _ := Check(redacted, exampleNow); len(problems) > 0 {
		t.Errorf("problems = %v", problems)
	}
}

// private is a plan as an operator has it, with everything that may not be published.
func private(t *testing.T) *Plan {
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
	p := private(t)
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
	if counts.Paths != 48*2+4 || counts.Secrets != 4 || counts.Hosts != 48+2 || counts.Containers != 2 || counts.Emails != 1 {
		t.Errorf("counts = %+v", counts)
	}
	if problems, warnings := Check(redacted, exampleNow); len(problems) > 0 || !hasWarning(warnings, "host_redacted", "baseline") {
		t.Errorf("problems = %v", problems)
	}
}

func TestRedactIsIdempotentAndFollowsTheValue(t *testing.T) {
	p := private(t)
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

func TestRedactText(t *testing.T) {
	for in, want := range map[string]string{
		// machine paths
		"/home/op/x":                     "[PRIVATE_OPERATOR_ROOT]/x",
		"/home/op":                       "[PRIVATE_OPERATOR_ROOT]",
		"/home/jürgen/a b":               "[PRIVATE_OPERATOR_ROOT]/a b",
		"/opt/serve/x":                   "[PRIVATE_OPERATOR_ROOT]/x",
		"/srv/x":                         "[PRIVATE_OPERATOR_ROOT]/x",
		"/root/x/y":                      "[PRIVATE_OPERATOR_ROOT]/x/y",
		"/workspace/x":                   "[PRIVATE_OPERATOR_ROOT]/x",
		"/mnt/disk/models/":              "[PRIVATE_OPERATOR_ROOT]/models/",
		`C:\Users\op\x`:                  `[PRIVATE_OPERATOR_ROOT]/x`,
		`C:\\Users\\op\\x`:               `[PRIVATE_OPERATOR_ROOT]/x`,
		`D:\models\a.gguf`:               `[PRIVATE_OPERATOR_ROOT]/a.gguf`,
		`see \\nas\share\a.gguf`:         `see [PRIVATE_OPERATOR_ROOT]/share/a.gguf`,
		"file:///srv/op/x":               "file://[PRIVATE_OPERATOR_ROOT]/x",
		"-v /home/op/m:/data/m/x":        "-v [PRIVATE_OPERATOR_ROOT]/m:[PRIVATE_OPERATOR_ROOT]/x",
		"--config=/home/op/c.toml":       "--config=[PRIVATE_OPERATOR_ROOT]/c.toml",
		"$HOME/x and ~op/y":              "[PRIVATE_OPERATOR_ROOT]/x and [PRIVATE_OPERATOR_ROOT]/y",
		"[PRIVATE_OPERATOR_ROOT]/home/x": "[PRIVATE_OPERATOR_ROOT]/home/x",
		// no machine paths
		"and /proc/meminfo, /usr/bin/env": "and /proc/meminfo, /usr/bin/env",
		"/v1/chat/completions":            "/v1/chat/completions",
		"/":                               "/",
		"p50/p95 at C1/2/4 and 18/18":     "p50/p95 at C1/2/4 and 18/18",
		"nvidia/GLM-5.3-Flash-FP4-Local":  "nvidia/GLM-5.3-Flash-FP4-Local",
		"native/baseline/x.json":          "native/baseline/x.json",
		"http://127.0.0.1:31841/v1":       "http://127.0.0.1:31841/v1",
		"docs/findings/2026-10-17.md":     "docs/findings/2026-10-17.md",
		"prompt_tokens/TTFO":              "prompt_tokens/TTFO",
		// secrets
		"Authorization: Bearer sk-x":               "Authorization: [REDACTED]",
		"curl -H 'bearer abcdefghijklmnop1'":       "curl -H 'bearer [REDACTED]'",
		"http://u:p@127.0.0.1:1/v1?key=abc&x=1":    "http://127.0.0.1:1/v1?key=[REDACTED]&x=1",
		"HF_TOKEN=abc run":                         "HF_TOKEN=[REDACTED] run",
		"run --api-key abc --seed 1":               "run --api-key [REDACTED] --seed 1",
		"run --api-key=abc":                        "run --api-key=[REDACTED]",
		"sk-abcdefghijklmnop1234":                  "[REDACTED]",
		"nvapi-abcdefghijklmnop1234":               "[REDACTED]",
		"-----BEGIN PRIVATE KEY-----\nx\n-----END": "[REDACTED]",
		// no secrets
		"run --max-tokens 16384 --api-key-env NAME":       "run --max-tokens 16384 --api-key-env NAME",
		"76348ddb2be2e35e39ecfc00e75dc07703f4f3d5":        "76348ddb2be2e35e39ecfc00e75dc07703f4f3d5",
		"sha256:" + strings.Repeat("ab", 32):              "sha256:" + strings.Repeat("ab", 32),
		"direct JSON and authenticated checks":            "direct JSON and authenticated checks",
		"version 10.15.20.26 of 127.0.0.1, not 8.8.8.8":   "version [host-a] of 127.0.0.1, not 8.8.8.8",
		"100.64.1.2 169.254.0.1 box.tail1.ts.net a.local": "[host-a] [host-b] [host-c] [host-d]",
		strings.Repeat("0f", 32):                          "[container-1]",
	} {
		r := &redactor{hosts: map[string]string{}, containers: map[string]string{}, emails: map[string]string{}}
		got := r.word(in, "text")
		if strings.HasPrefix(in, "/home/jürgen") || in == "/" {
			got = r.word(in, "argv")
		}
		if got != want {
			t.Errorf("%q\n = %q\nwant %q", in, got, want)
		}
		if again := r.word(got, "text"); again != got {
			t.Errorf("%q redacted twice is %q", in, again)
		}
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
