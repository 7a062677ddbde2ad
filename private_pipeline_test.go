package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
	"assay/report/bundle"
	"assay/report/sanitize"
)

const (
	leakKey   = "correct-horse-battery-staple" // the token of the live requests
	leakToken = "glpat" + "-abcdefghij0123456789"
	leakID    = "0f1e2d3c0f1e2d3c0f1e2d3c0f1e2d3c0f1e2d3c0f1e2d3c0f1e2d3c0f1e2d3c"
	// leakText is what an engine of somebody's machine may say of it.
	leakText = "Incorrect API key provided: " + leakKey + "; at /home/jane/vllm/x.py on rig7.local (192.168.7.9), " +
		"container " + leakID + ", GPU-8f6c2f4e-1c6b-4f0a-9d3e-0123456789ab, mail jane@example.org, https://jane:pw@example.org/?token=" + leakToken +
		"; Authorization: Bearer " + leakToken
)

// leakingLog is a log of the engine: two lines that state a capacity, between what
// else a log says.
const leakingLog = "HUB_TOKEN=" + leakToken + " HOME=/home/jane\n" +
	"(rig7.local pid=7) non-default args: {'model': '/home/jane/m', 'api_key': ['" + leakToken + "'], 'max_num_seqs': 16}\n" +
	"INFO GPU KV cache size: 560,866 tokens, " + leakText + "\n"

// leaks are what may be nowhere in what leaves the machine.
var leaks = []string{leakKey, leakToken, "jane", "rig7", "192.168.7.9", leakID, "8f6c2f4e", "/zfs7", "attic"}

// leakingEngine is a simulated engine behind a proxy that says far too much: in
// its headers, version, labels and errors. It counts the requests that came with
// the real token.
func leakingEngine(t *testing.T, model string, authorized *atomic.Int64) string {
	t.Helper()
	profile, _ := simengine.LookupProfile("glm53-baseline")
	_, base, stop, err := simengine.Start(context.Background(), simengine.Config{Profile: profile, Model: model, MaxModelLen: 32768, Seed: 1, TimeScale: 50, OutputScale: 0.02, DecodeScale: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	target.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = leakInAnswer
	var chats atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+leakKey {
			authorized.Add(1)
		}
		w.Header().Set("X-Served-By", "rig7.local")
		w.Header().Set("Set-Cookie", "session="+leakToken)
		body, _ := json.Marshal(map[string]any{"error": map[string]string{"message": leakText, "type": "/home/jane/type", "code": leakToken}, "prompt": "jane's prompt"})
		switch n := chats.Load(); {
		case r.URL.Path == "/version":
			_, _ = io.WriteString(w, `{"version": "0.29+jane@example.org /home/jane/vllm `+leakToken+`"}`)
			return
		case !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		case chats.CompareAndSwap(n, n+1) && n == 1:
			http.Error(w, string(body), http.StatusUnauthorized)
			return
		case n == 3:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+string(body)+"\n\ndata: [DONE]\n\n")
			return
		case n == 5:
			http.Error(w, "<html>"+leakText+"</html>", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// leakInAnswer adds labels of a scraper to the metrics page, and a root to the
// served models.
func leakInAnswer(r *http.Response) error {
	old, with := "", ""
	switch r.Request.URL.Path {
	case "/metrics":
		old, with = `model_name="`, `pod="rig7-0",hostname="rig7",path="/home/jane/m",zone="attic",model_name="`
	case "/v1/models":
		old, with = `"object":"model"`, `"object":"model","root":"/home/jane/models","owned_by":"jane@example.org"`
	default:
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(body), old, with)
	if r.Request.URL.Path == "/metrics" {
		text = "# " + leakText + "\nleak_info{path=\"/home/jane\"} 1\n" + text
	}
	r.Body = io.NopCloser(strings.NewReader(text))
	r.ContentLength = int64(len(text))
	r.Header.Set("Content-Length", "")
	r.Header.Del("Content-Length")
	return nil
}

// leakingPlan is a plan as an operator has it.
func leakingPlan(t *testing.T) []byte {
	t.Helper()
	spec := strings.ReplaceAll(governedSpec, "governed-finding", "leaking")
	spec = strings.Replace(spec, "command: [bench]", "command: [/home/jane/bench/.venv/bin/python, -m, bench]", 1)
	lines := strings.SplitAfter(spec, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if !strings.Contains(line, "capacity-edge") {
			kept = append(kept, line)
		}
	}
	text, problems := plan.Expand([]byte(strings.Join(kept, "")), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	tree["owner"] = "sole owner of rig7.local"
	tree["authorization"] = "granted by jane"
	tree["telemetry"] = "as in /zfs7/jane/notes.txt; " + leakText
	tree["restoration"] = map[string]any{"retained_container_id": leakID, "argv_source": "/home/jane/restore.json", "postconditions": []string{"rig7.local answers"}}
	tree["quality_ledger"] = map[string]any{"direct": "not run; see https://example.org/?token=" + leakToken}
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNothingPrivateLeavesTheMachine collects from engines that leak, with a plan
// that does, and looks into everything that comes out: the finding and its
// bundle, decoded, and what every command printed.
func TestNothingPrivateLeavesTheMachine(t *testing.T) {
	t.Setenv("BENCH_API_KEY", leakKey)
	t.Setenv("HUB_TOKEN", leakToken)
	dir := t.TempDir()
	planFile, run, db, findings := filepath.Join(dir, "plan.json"), filepath.Join(dir, "run"), filepath.Join(dir, "a.duckdb"), filepath.Join(dir, "findings")
	if err := os.WriteFile(planFile, leakingPlan(t), 0o600); err != nil {
		t.Fatal(err)
	}
	engineLog := filepath.Join(dir, "engine.log")
	if err := os.WriteFile(engineLog, []byte(leakingLog), 0o600); err != nil {
		t.Fatal(err)
	}
	var authorized atomic.Int64
	printed := ""
	for _, step := range []struct {
		code int
		args []string
	}{
		{0, []string{"plan", "redact", planFile, "-o", filepath.Join(dir, "redacted.json")}},
		{1, []string{"collect", planFile, "-o", run, "--confirm", "--restart-clock", "--selfcheck", "off", "--sample-every", "20ms", "--api-key-env", "BENCH_API_KEY",
			"--engine-log", "baseline=" + engineLog,
			"--base-url", "baseline=" + leakingEngine(t, "model-a", &authorized), "--base-url", "candidate=" + leakingEngine(t, "model-b", &authorized)}},
		{0, []string{"status", run}},
		{0, []string{"ingest", run, "--db", db}},
		{0, []string{"analyze", "--db", db}},
		{0, []string{"report", "--db", db, "--campaign", "leaking", "-o", findings}},
	} {
		code, stdout, stderr := command(t, step.args...)
		if code != step.code {
			t.Fatalf("%v exits %d\n%s\n%s", step.args, code, stdout, stderr)
		}
		printed += stdout + stderr
	}
	if n := authorized.Load(); n < 8 {
		t.Errorf("%d requests came with the real token", n)
	}
	for _, leak := range leaks {
		if strings.Contains(printed, leak) {
			t.Errorf("a command printed %q", leak)
		}
	}
	if got := value(t, db, "SELECT value FROM capacity_facts WHERE arm = 'baseline' AND fact = 'kv_pool_tokens'"); got == "" {
		t.Error("no capacity was read")
	}
	if got := value(t, db, "SELECT count(*) > 0 FROM engine_facts WHERE arm = 'baseline' AND contains(source, 'log')"); got != "true" {
		t.Error("no line of the engine's log was kept")
	}
	checkRawHolds(t, run)
	checkNoLeak(t, findings)
	checkSameRedaction(t, dir, run, findings)
}

// checkRawHolds: the private record has what was said, or the test shows nothing.
func checkRawHolds(t *testing.T, run string) {
	t.Helper()
	answers := 0
	err := filepath.WalkDir(run, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".parquet" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		table, err := sanitize.ReadTable(data)
		if err != nil {
			return nil // a table of other columns
		}
		for _, c := range table.Columns {
			if strings.Contains(strings.Join(c.Texts, "\n"), leakToken) {
				answers++
			}
		}
		return nil
	})
	if err != nil || answers == 0 {
		t.Errorf("%d raw columns hold the token, %v", answers, err)
	}
}

// checkNoLeak looks for the leaks in every decoded text of the findings folder.
func checkNoLeak(t *testing.T, findings string) {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(findings, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = strings.TrimPrefix(path, findings) + string(data)
		if err != nil || filepath.Ext(path) != ".parquet" {
			return err
		}
		table, err := sanitize.ReadTable(data)
		for _, c := range append(table.Columns, table.Notes...) {
			files[path] += strings.Join(c.Texts, "\n") + strings.Join(c.Extremes, "\n")
		}
		return err
	})
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	placeholders := ""
	for path, text := range files {
		placeholders += text
		for _, leak := range leaks {
			if strings.Contains(text, leak) {
				t.Errorf("%s holds %q", strings.TrimPrefix(path, findings), leak)
			}
		}
	}
	for _, want := range []string{"[PRIVATE_OPERATOR_ROOT]/bench/.venv/bin/python", "[REDACTED]", "[host-a]", "[container-1]", "[gpu-1]", "[email-1]", "[label-"} {
		if !strings.Contains(placeholders, want) {
			t.Errorf("%s is nowhere", want)
		}
	}
	folders, err := filepath.Glob(filepath.Join(findings, "*", bundle.ManifestName))
	if err != nil || len(folders) != 1 {
		t.Fatalf("%v, %v", folders, err)
	}
	l, err := bundle.Load(filepath.Dir(folders[0]))
	if err != nil {
		t.Fatal(err)
	}
	if n := l.Manifest.Predicate.Sanitizer.Dropped["campaigns.settings members"]; n != 0 {
		t.Errorf("%d settings of the collector are not on the list of what is published", n)
	}
	if r := bundle.Verify(l, bundle.Options{Level: 2, Extra: []bundle.Check{sanitize.BundleCheck(nil)}}); !r.OK() {
		t.Errorf("%v", r.Problems)
	}
}

// checkSameRedaction: the plan that is published is the one whose digest was
// locked before the first request, and the one that plan redact writes.
func checkSameRedaction(t *testing.T, dir, run, findings string) {
	t.Helper()
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	folder := filepath.Join(findings, "2026-10-17-governed-evidence")
	published := read(filepath.Join(folder, "plan.json"))
	if string(published) != string(read(filepath.Join(dir, "redacted.json"))) {
		t.Error("the published plan is not what plan redact writes")
	}
	lock, err := plan.DecodeLock(read(filepath.Join(run, record.LockName)))
	if err != nil {
		t.Fatal(err)
	}
	private, _ := plan.Decode(read(filepath.Join(run, "plan.json")))
	redacted, _ := plan.Decode(published)
	if lock.CanonicalSHA256 != private.Digest() || lock.RedactedCanonicalSHA256 != redacted.Digest() || private.Digest() == redacted.Digest() {
		t.Errorf("lock %+v, private %s, published %s", lock, private.Digest(), redacted.Digest())
	}
	l, err := bundle.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := bundle.PlanLock{CanonicalSHA256: lock.CanonicalSHA256, RedactedSHA256: lock.RedactedCanonicalSHA256, LockedAtUnixNs: lock.LockedAtUnixNs}
	if got := l.Manifest.Predicate.PlanLock; got == nil || *got != want {
		t.Errorf("the manifest's planLock is %+v, want %+v", got, want)
	}
	first := value(t, filepath.Join(dir, "a.duckdb"), "SELECT min(t0_unix_ns) > min(locked_at_unix_ns) FROM requests, campaigns")
	if first != "true" {
		t.Errorf("locked before the first request: %s", first)
	}
}
