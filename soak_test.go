package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/collect/campaign"
	"assay/collect/plan"
	"assay/collect/simengine"
)

// minutes is how long the soak test collects; -minutes 10 is the full test, whose
// figures docs/performance.md has.
var minutes = flag.Float64("minutes", 0.08, "how long the soak test collects")

// The environment of the collector that the soak test starts.
const (
	soakRun    = "ASSAY_SOAK_RUN"
	soakPlan   = "ASSAY_SOAK_PLAN"
	soakEngine = "ASSAY_SOAK_ENGINE"
)

// Bounds of the full test.
const (
	soakEvery     = 500 * time.Millisecond
	soakGrowth    = 16 << 20 // bytes of resident memory, from a fifth of the time to its end
	soakCoreShare = 0.01     // of one core
)

// A request is a stream of this many chunks; two are open at a time. They are slow,
// so that what the collector costs is mostly what its sampler costs.
const (
	soakChunks   = 20
	soakInterval = 250 * time.Millisecond
)

// soakSpec is one arm of cells that all do the same.
func soakSpec(cells, requests int) string {
	var s strings.Builder
	s.WriteString(`
schema: assay/plan-spec/v1
campaign_id: soak
metric_profile: serving-comparison/v1
created_at: 2026-10-17T10:00:00Z
frozen_at: 2026-10-17T10:30:00Z
dispatch_clock_started_at: 2026-10-17T11:00:00Z
request_cutoff_seconds: 7200
restoration_reserve_seconds: 300
load_bound_seconds: 200
controls: {max_tokens: 4096, model_max_len: 32768, prompt_cache_mode: unique, request_canaries: true}
arms:
  - {name: baseline, model: model-a, engine: sim, port: 31841}
command: [bench]
request_timeout_seconds: 60
cells:
`)
	for i := range cells {
		fmt.Fprintf(&s, "  - {workload: natural, name: s%03d, contexts: [1024], concurrency: [2], requests: %d, seed_base: %d, outer_timeout_seconds: 300}\n", i, requests, 7000+10*i)
	}
	s.WriteString(`eligibility:
  - all planned requests completed and terminal
  - own canary first; no foreign marker; complete capture
publication: {finding: findings/2026-10-17-soak.md}
`)
	return s.String()
}

// TestSoakCollector is no test of its own: it is the collector that TestSoak starts
// in a process of its own, so that what it costs is what a collector costs. Its
// GPUs are simulated and read like two real ones; its control group is that of
// this process, found through a Docker Engine that is played.
func TestSoakCollector(t *testing.T) {
	dir := os.Getenv(soakRun)
	if dir == "" {
		t.Skip("started by TestSoak only")
	}
	p, _, err := plan.Load(os.Getenv(soakPlan))
	if err != nil {
		t.Fatal(err)
	}
	summary, err := campaign.Run(t.Context(), campaign.Options{
		Plan: p, Dir: dir, Version: "test", RestartClock: true, SampleEvery: soakEvery,
		BaseURLs: map[string]string{"baseline": os.Getenv(soakEngine)}, GPU: simengine.NewGPU(2),
		Containers: map[string]string{"baseline": "engine"}, DockerSocket: playDocker(t, os.Getpid()),
	})
	if err != nil || !summary.Complete() {
		t.Fatalf("%+v: %v", summary, err)
	}
}

// playDocker is a Docker Engine with one container whose first process is pid.
func playDocker(t *testing.T, pid int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	state := `{"Id":"` + strings.Repeat("ab", 32) + `","Image":"sha256:1","State":{"Status":"running","Pid":` + strconv.Itoa(pid) + `}}`
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, state) })}
	go func() { _ = server.Serve(listener) }() // ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return path
}

// TestSoak collects a simulated campaign for a while at 0.5 s and asks the run what
// it says of itself: every interval, every gap, and what the collector cost. Its
// share of a core and its memory are judged in the full test only, a few seconds
// say nothing of them.
//
//	go test -run 'TestSoak$' -minutes 10 -timeout 20m -v .
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const requests = 24 // a minute: twelve rounds of two requests of five seconds
	seconds := *minutes * 60
	cells, each := int(seconds/60), requests
	if cells < 2 {
		cells, each = 2, 2
	}
	dir := t.TempDir()
	text, problems := plan.Expand([]byte(soakSpec(cells, each)), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	planPath, run := filepath.Join(dir, "plan.json"), filepath.Join(dir, "run")
	if err := os.WriteFile(planPath, text, 0o600); err != nil {
		t.Fatal(err)
	}
	profile, _ := simengine.LookupProfile("glm53-baseline")
	_, url, stop, err := simengine.Start(context.Background(), simengine.Config{
		Profile: profile, Model: "model-a", MaxModelLen: 32768, Seed: 1, DiscardLogs: true,
		PrefillScale: 100, Chunks: soakChunks, ChunkInterval: soakInterval,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	collector := exec.CommandContext(t.Context(), binary, "-test.run", "^TestSoakCollector$", "-test.timeout", "0")
	collector.Env = append(os.Environ(), soakRun+"="+run, soakPlan+"="+planPath, soakEngine+"="+url)
	if out, err := collector.CombinedOutput(); err != nil {
		t.Fatalf("the collector: %v\n%s", err, out)
	}
	db := filepath.Join(dir, "soak.duckdb")
	mustRun(t, "ingest", run, "--db", db)
	mustRun(t, "analyze", "--db", db)
	checkSoak(t, db, cells)
}

func checkSoak(t *testing.T, db string, cells int) {
	t.Helper()
	for _, row := range rows(t, db, "SELECT source, count(*), sum(good), sum(expected), sum(gaps), sum(errors), min(min_ns) // 1000000, max(p50_ns) // 1000000, max(max_ns) // 1000000 FROM sampling_intervals GROUP BY source ORDER BY source") {
		t.Logf("%s: %s cells, %s good readings of %s expected, %s gaps, %s failed; interval min %s, p50 %s, max %s ms", row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8])
		if row[1] != strconv.Itoa(cells) || row[2] == "0" || row[6] == "" || row[8] == "" {
			t.Errorf("the intervals of %s are not reported: %v", row[0], row)
		}
	}
	if got := value(t, db, "SELECT string_agg(DISTINCT source, ' ' ORDER BY source) FROM sampling_intervals"); got != "cgroup gpu host pages" {
		t.Errorf("sources %q", got)
	}
	// A gap that a reading can see has its number; nothing may be missing beyond.
	if got := value(t, db, `SELECT count(*) FROM sampling_intervals WHERE (max_ns * 2 > planned_ns * 3 OR good < expected - 2) AND gaps = 0`); got != "0" {
		t.Errorf("%s rows have a long interval or too few readings and no gap", got)
	}
	const cost = `SELECT (max(client_cpu_ns) - min(client_cpu_ns)) / (max(at_ns) - min(at_ns)), (max(at_ns) - min(at_ns)) / 60e9, count(*) FROM host_samples`
	figures := rows(t, db, cost)[0]
	share, err := strconv.ParseFloat(figures[0], 64)
	if err != nil || share <= 0 {
		t.Fatalf("share of a core: %v", figures)
	}
	const grown = `SELECT max(client_rss_bytes) - min(client_rss_bytes) FILTER (at_ns <= first_ns + (last_ns - first_ns) // 5 + 5000000000 AND at_ns >= first_ns + (last_ns - first_ns) // 5),
		max(client_rss_bytes) FROM host_samples, (SELECT min(at_ns) AS first_ns, max(at_ns) AS last_ns FROM host_samples)
		WHERE at_ns >= first_ns + (last_ns - first_ns) // 5`
	memory := rows(t, db, grown)[0]
	growth, err := strconv.ParseInt(memory[0], 10, 64)
	if err != nil {
		t.Fatalf("growth of the memory: %v", memory)
	}
	t.Logf("collector: %.2f %% of a core over %s minutes (%s readings), streams, pages and Parquet included; resident memory grew by %.1f MiB to %s bytes", share*100, figures[1], figures[2], float64(growth)/(1<<20), memory[1])
	if *minutes < 10 {
		return
	}
	if share >= soakCoreShare {
		t.Errorf("the collector takes %.2f %% of a core", share*100)
	}
	if growth >= soakGrowth {
		t.Errorf("resident memory grew by %d bytes", growth)
	}
}
