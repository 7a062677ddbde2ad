package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/collect/engine"
	"assay/collect/record"
)

func TestEngineLogIsFollowedAndOnlyMatchedLinesAreTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.log")
	l := &engineLog{path: path}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(wantLines, wantBoot string) {
		t.Helper()
		lines, err := l.read()
		if err != nil || string(lines) != wantLines || string(l.boot) != wantBoot {
			t.Errorf("lines %q, boot %q, %v; want %q and %q", lines, l.boot, err, wantLines, wantBoot)
		}
	}
	if _, err := l.read(); err == nil {
		t.Error("a file that is not there was read")
	}
	const pool, stats = "GPU KV cache size: 1,000 tokens\n", "Engine 000: Avg prompt throughput: 1.0 tokens/s\n"
	text := "a prompt nobody should see\n" + pool + stats + strings.Repeat("x", 3*maxLogLine) + pool
	write(text) // the second pool stands in a line that is too long
	read(stats, pool)
	write(text + stats + "GPU KV cache")
	read(stats, pool)
	write(text + stats + pool)
	read("", pool+pool)
	write(stats) // cut short: another log
	read(stats, "")
}

func TestEngineLogAndArgvOfACampaignAreKept(t *testing.T) {
	_, a := sim(t, "model-a", nil)
	o := options(t, smallPlan(t, nil), a, a)
	o.OnlyArm, o.CellGlob = "baseline", "*warmup*"
	path := filepath.Join(t.TempDir(), "engine.log")
	if err := os.WriteFile(path, []byte("noise\nGPU KV cache size: 1,000 tokens\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.EngineLogs = map[string]string{"baseline": path}
	o.Containers = map[string]string{"baseline": "engine-a"}
	o.DockerSocket = dockerSocket(t, func() string {
		return `{"Id":"` + strings.Repeat("ab", 32) + `","Image":"sha256:1","RestartCount":0,"Args":["serve","--api-key","sk-1","--max-num-seqs","4"],"State":{"Status":"running","Pid":1}}`
	})
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(o.Dir, record.CellsName, "*", "*", "*"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	answers, err := record.ReadTable(folders[0], record.Answers)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, answer := range answers {
		body := string(answer.Body)
		if answer.Path == engine.PathProps {
			body = fmt.Sprint(*answer.HTTPStatus)
		}
		got[answer.Phase+" "+answer.Path] = body
	}
	for key, want := range map[string]string{
		"before " + engine.SourceLog: "GPU KV cache size: 1,000 tokens\n", "after " + engine.SourceLog: "",
		"before " + engine.SourceArgv: `["--max-num-seqs","4"]`, "before " + engine.PathProps: "404",
	} {
		if body, ok := got[key]; !ok || body != want {
			t.Errorf("%s: %q (%v), want %q", key, body, ok, want)
		}
	}
}
