package sanitize

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/collect/plan"
	"assay/collect/private"
	"assay/report/bundle"
)

// redactedAndScanned redacts a text, and holds that the scan found it before and
// finds nothing after.
func redactedAndScanned(t *testing.T, text string) string {
	t.Helper()
	if len((private.Known{}).Scan(text)) == 0 {
		t.Errorf("the scan does not find %q", text)
	}
	var r private.Redactor
	got := r.Text(text)
	if errs := scan(map[string][]byte{"friction.md": []byte(got + "\n")}); len(errs) > 0 {
		t.Errorf("%q becomes %q: %v", text, got, errs)
	}
	return got
}

// TestCaseG04SecretsInArtifacts: a command line, a header, a URL, an environment,
// an error that echoes the key, and base64 of it in a container inspect.
func TestCaseG04SecretsInArtifacts(t *testing.T) {
	key := "sk-" + "test-0000000000000000000000"
	inspect, err := json.Marshal(map[string]any{"Config": map[string]any{
		"Env": []string{"HF_TOKEN=" + key, "PATH=/usr/bin"}, "Cmd": []string{"serve", "--api-key", key},
		"Labels": map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte("user:" + key))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ text, want string }{
		{"vllm serve m --api-key " + key + " --seed 1", "vllm serve m --api-key [REDACTED] --seed 1"},
		{"vllm serve m --api-key=" + key, "vllm serve m --api-key=[REDACTED]"},
		{"vllm serve m --api-key short", "vllm serve m --api-key [REDACTED]"},
		{"Authorization: Bearer " + key, "Authorization: [REDACTED]"},
		{"http://u:p@127.0.0.1:31841/v1?key=" + key, "http://127.0.0.1:31841/v1?key=[REDACTED]"},
		{"HF_TOKEN=" + key, "HF_TOKEN=[REDACTED]"},
		{`{"error":{"message":"Incorrect API key provided: ` + key + `"}}`, `{"error":{"message":"Incorrect API key provided: [REDACTED]"}}`},
		{string(inspect), ""},
		{base64.StdEncoding.EncodeToString(inspect), "[REDACTED]"},
	} {
		got := redactedAndScanned(t, row.text)
		if row.want != "" && got != row.want {
			t.Errorf("%q becomes %q, want %q", row.text, got, row.want)
		}
		if strings.Contains(got, key) {
			t.Errorf("%q still holds the key", got)
		}
	}
	// What no text can be read from is no file of a finding.
	for _, name := range []string{"plots/a.png", "data/events.jsonl.gz"} {
		if errs := scan(map[string][]byte{name: []byte("\x89PNG tEXt " + key)}); len(errs) == 0 {
			t.Errorf("%s passes", name)
		}
	}
}

// TestCaseG05PrivatePathsAndMachineNames: every form of a path, and the names of
// machines; an unknown absolute path does not pass.
func TestCaseG05PrivatePathsAndMachineNames(t *testing.T) {
	for text, want := range map[string]string{
		"/home/op/x":                  "[PRIVATE_OPERATOR_ROOT]/x",
		"/opt/serve/x":                "[PRIVATE_OPERATOR_ROOT]/x",
		"/workspace/run/x":            "[PRIVATE_OPERATOR_ROOT]/run/x",
		`C:\Users\op\x`:               "[PRIVATE_OPERATOR_ROOT]/x",
		`C:\\Users\\op\\x`:            "[PRIVATE_OPERATOR_ROOT]/x",
		`C:/Users/op/x`:               "[PRIVATE_OPERATOR_ROOT]/x",
		`{"path":"C:\\Users\\op\\x"}`: `{"path":"[PRIVATE_OPERATOR_ROOT]/x"}`,
		"file:///srv/op/x":            "file://[PRIVATE_OPERATOR_ROOT]/x",
		"/unheard/of/x":               "[PRIVATE_OPERATOR_ROOT]/x",
		"192.168.7.9:8000":            "[host-a]:8000",
		"Max retries: HTTPConnectionPool(host='rig7', port=80)": "Max retries: HTTPConnectionPool(host='[host-a]', port=80)",
		`File "/home/op/venv/x.py", line 3, in rig7.local`:      `File "[PRIVATE_OPERATOR_ROOT]/venv/x.py", line 3, in [host-a]`,
		"serial: 1324421036552":                                 "serial: [serial-1]",
	} {
		if got := redactedAndScanned(t, text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestCaseG06RedactBeforeHashing: the digests of a manifest are those of the
// published bytes, and redacting those again changes nothing.
func TestCaseG06RedactBeforeHashing(t *testing.T) {
	var r private.Redactor
	once := r.Text("open /home/op/x on 192.168.7.9\n")
	d := draft(t)
	d.Files["friction.md"] = []byte(once)
	a, err := bundle.Assemble(d)
	if err != nil {
		t.Fatal(err)
	}
	if problems := verified(t, d); len(problems) > 0 {
		t.Errorf("the redacted bundle: %v", problems)
	}
	d.Files["friction.md"] = []byte(new(private.Redactor).Text(once))
	again, err := bundle.Assemble(d)
	if err != nil || string(again.ManifestBytes) != string(a.ManifestBytes) {
		t.Errorf("a second pass changes the manifest, %v", err)
	}
}

// TestTheSeedPlanRedactedPasses redacts the real plan.
func TestTheSeedPlanRedactedPasses(t *testing.T) {
	found, err := filepath.Glob("../../../shared/seeds/*.json")
	if err != nil || len(found) == 0 {
		t.Skip("the seed plan is not beside this checkout")
	}
	for _, name := range found {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, problems := plan.Decode(text)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		redacted, _, err := plan.Redact(p)
		if err != nil {
			t.Fatal(err)
		}
		if errs := scan(map[string][]byte{"plan.json": redacted.Bytes}); len(errs) > 0 {
			t.Errorf("%v", errs)
		}
	}
}
