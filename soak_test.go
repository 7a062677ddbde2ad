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
	soakRun     = "ASSAY_SOAK_RUN"
	soakPlan    = "ASSAY_SOAK_PLAN"
	soakEngine  = "ASSAY_SOAK_ENGINE"
	soakCadence = "ASSAY_SOAK_EVERY"
)

// Bounds of the full test.
const (
	soakEvery     = 500 * time.Millisecond
	soakGrowth    = 16 << 20 // bytes of resident memory, from minute 2 to 10
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
	every, err := time.ParseDuration(os.Getenv(soakCadence))
	if err != nil {
		t.Fatal(err)
	}
	summary, err := campaign.Run(t.Context(), campaign.Options{
		Plan: p, Dir: dir, Version: "test", RestartClock: true, SampleEvery: every,
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
// it says of itself: every interval, every gap, and what the collector cost. Then it
// collects a fifth as long without readings during the cells; what that costs less
// is the sampler. Cost and memory are judged in the full test only, a few seconds
// say nothing of them.
//
//	go test -run 'TestSoak$' -minutes 10 -timeout 20m -v .
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	profile, _ := simengine.LookupProfile("glm53-baseline")
	_, url, stop, err := simengine.Start(context.Background(), simengine.Config{
		Profile: profile, Model: "model-a", MaxModelLen: 32768, Seed: 1, DiscardLogs: true,
		PrefillScale: 100, Chunks: soakChunks, ChunkInterval: soakInterval,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	sampled := soak(t, filepath.Join(dir, "sampled"), url, *minutes, soakEvery)
	checkIntervals(t, sampled)
	checkCost(t, sampled, soak(t, filepath.Join(dir, "control"), url, *minutes/5, time.Hour))
}

// soak collects for some minutes in a process of its own and returns the database.
func soak(t *testing.T, dir, url string, minutes float64, every time.Duration) (db string) {
	t.Helper()
	cells, requests := int(minutes), 24 // a minute: twelve rounds of two requests of five seconds
	if cells == 0 {
		cells, requests = 1, 2
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text, problems := plan.Expand([]byte(soakSpec(cells, requests)), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	planPath, run := filepath.Join(dir, "plan.json"), filepath.Join(dir, "run")
	if err := os.WriteFile(planPath, text, 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	collector := exec.CommandContext(t.Context(), binary, "-test.run", "^TestSoakCollector$", "-test.timeout", "0")
	collector.Env = append(os.Environ(), soakRun+"="+run, soakPlan+"="+planPath, soakEngine+"="+url, soakCadence+"="+every.String())
	if out, err := collector.CombinedOutput(); err != nil {
		t.Fatalf("the collector: %v\n%s", err, out)
	}
	db = filepath.Join(dir, "soak.duckdb")
	mustRun(t, "ingest", run, "--db", db)
	mustRun(t, "analyze", "--db", db)
	return db
}

// checkIntervals holds that each source says how often it was read, and that no
// long interval and no missing reading is without a gap.
func checkIntervals(t *testing.T, db string) {
	t.Helper()
	const figures = `SELECT source, count(*), sum(good), sum(expected), sum(gaps), sum(errors), min(min_ns) // 1000000, max(p50_ns) // 1000000, max(max_ns) // 1000000
		FROM sampling_intervals GROUP BY source ORDER BY source`
	var sources []string
	for _, row := range rows(t, db, figures) {
		sources = append(sources, row[0])
		t.Logf("%s: %s cells, %s good readings of %s expected, %s gaps, %s failed; interval min %s, p50 %s, max %s ms", row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8])
		if row[2] == "0" || row[6] == "" || row[8] == "" {
			t.Errorf("the intervals of %s are not reported: %v", row[0], row)
		}
	}
	if got := strings.Join(sources, " "); got != "cgroup gpu host pages" {
		t.Errorf("sources %q", got)
	}
	if got := value(t, db, `SELECT count(*) FROM sampling_intervals WHERE (max_ns * 2 > planned_ns * 3 OR good < expected - 2) AND gaps = 0`); got != "0" {
		t.Errorf("%s rows have a long interval or too few readings and no gap", got)
	}
}

// checkCost compares a sampled run with one that reads only before and after cells.
func checkCost(t *testing.T, sampled, control string) {
	t.Helper()
	number := func(db, query string) float64 {
		t.Helper()
		n, err := strconv.ParseFloat(value(t, db, query), 64)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	const share = "SELECT (max(client_cpu_ns) - min(client_cpu_ns)) / (max(at_ns) - min(at_ns)) FROM host_samples"
	whole, without := number(sampled, share), number(control, share)
	// From a fifth of the time, minute 2 of 10, on.
	const grown = `SELECT max(client_rss_bytes) FILTER (at_ns >= first_ns + (last_ns - first_ns) // 5)
			- max(client_rss_bytes) FILTER (at_ns BETWEEN first_ns + (last_ns - first_ns) // 5 AND first_ns + (last_ns - first_ns) // 5 * 3 // 2)
		FROM host_samples, (SELECT min(at_ns) AS first_ns, max(at_ns) AS last_ns FROM host_samples)`
	growth := number(sampled, grown)
	if whole <= 0 || without <= 0 || growth < 0 {
		t.Errorf("a cost that cannot be: %g and %g of a core, growth %g", whole, without, growth)
	}
	t.Logf("collector: %.2f %% of a core with readings, %.2f %% without: the sampler takes %.2f %%", whole*100, without*100, (whole-without)*100)
	for _, row := range rows(t, sampled, "SELECT cell, min(client_rss_bytes) // 1048576, max(client_rss_bytes) // 1048576 FROM host_samples GROUP BY cell ORDER BY min(at_ns)") {
		t.Logf("%s: resident memory %s to %s MiB", row[0], row[1], row[2])
	}
	t.Logf("highest resident memory from minute 2 of 10 on against the highest of minutes 2 to 3: %.1f MiB more", growth/(1<<20))
	if *minutes < 10 {
		return
	}
	if whole-without >= soakCoreShare {
		t.Errorf("the sampler takes %.2f %% of a core", (whole-without)*100)
	}
	if growth >= soakGrowth {
		t.Errorf("resident memory grew by %.0f bytes", growth)
	}
}
