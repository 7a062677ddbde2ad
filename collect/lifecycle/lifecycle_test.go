package lifecycle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/collect/campaign"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
	"assay/collect/stream"
)

const spec = `
schema: assay/plan-spec/v1
campaign_id: restored
metric_profile: serving-comparison/v1
created_at: 2026-10-17T10:00:00Z
frozen_at: 2026-10-17T10:30:00Z
dispatch_clock_started_at: 2026-10-17T11:00:00Z
request_cutoff_seconds: 600
restoration_reserve_seconds: 300
load_bound_seconds: 20
controls: {max_tokens: 4096, model_max_len: 32768, prompt_cache_mode: unique, request_canaries: true}
arms:
  - {name: baseline, model: model-a, engine: sim, port: 31841}
  - {name: candidate, model: model-b, engine: sim, port: 31843}
command: [bench]
request_timeout_seconds: 20
cells:
  - {workload: natural, contexts: [2048], concurrency: [1, 2], requests: 4, seed_base: 200, outer_timeout_seconds: 60}
eligibility:
  - all planned requests completed and terminal
`

func testPlan(t *testing.T) *plan.Plan {
	t.Helper()
	text, problems := plan.Expand([]byte(spec), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// rack plays a host with one GPU: at most the engines that the commands' files
// ask for run. A command is touch or rm of a file below dir; the rack starts
// and stops the engine of that file's name.
type rack struct {
	dir    string
	t      *testing.T
	mu     sync.Mutex
	stops  map[string]func()
	listen map[string]string // address by arm
	faults map[string][]string
}

func newRack(t *testing.T, faults map[string][]string) *rack {
	r := &rack{dir: t.TempDir(), t: t, stops: map[string]func(){}, listen: map[string]string{}, faults: faults}
	for _, arm := range []string{"baseline", "candidate"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r.listen[arm] = l.Addr().String()
		_ = l.Close() // only its port is wanted
	}
	r.touch("baseline")
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); r.serve(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	r.until("baseline")
	return r
}

func (r *rack) path(arm string) string { return filepath.Join(r.dir, arm) }

func (r *rack) touch(arm string) {
	if err := os.WriteFile(r.path(arm), nil, 0o600); err != nil {
		r.t.Error(err)
	}
}

func (r *rack) until(arm string) {
	for range 200 {
		if conn, err := net.Dial("tcp", r.listen[arm]); err == nil {
			_ = conn.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatal("the engine did not start")
}

// serve follows the files until ctx ends.
func (r *rack) serve(ctx context.Context) {
	for {
		for arm, model := range map[string]string{"baseline": "model-a", "candidate": "model-b"} {
			_, err := os.Stat(r.path(arm))
			wanted := err == nil && ctx.Err() == nil
			r.mu.Lock()
			stop := r.stops[arm]
			r.mu.Unlock()
			switch {
			case wanted && stop == nil:
				stop = r.start(arm, model)
			case !wanted && stop != nil:
				stop()
				stop = nil
			}
			r.mu.Lock()
			r.stops[arm] = stop
			r.mu.Unlock()
		}
		if ctx.Err() != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (r *rack) start(arm, model string) func() {
	profile, _ := simengine.LookupProfile("glm53-baseline")
	engine, err := simengine.New(simengine.Config{Profile: profile, Model: model, MaxModelLen: 32768, TimeScale: 50, OutputScale: 0.02, Faults: r.faults[arm]})
	if err != nil {
		r.t.Error(err)
		return nil
	}
	listener, err := net.Listen("tcp", r.listen[arm])
	if err != nil {
		return nil // the port is not free yet; the next look tries again
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); _ = engine.Serve(ctx, listener) }() // a death is part of some tests
	return func() { cancel(); <-over }
}

func (r *rack) urls() map[string]string {
	urls := map[string]string{}
	for arm, addr := range r.listen {
		urls[arm] = "http://" + addr + "/v1"
	}
	return urls
}

// file is a lifecycle whose commands only touch and remove files. preview fails
// while the incumbent's file is there.
func (r *rack) file(named string) File {
	command := func(argv ...string) *Command { return &Command{Argv: argv, BoundSeconds: 10} }
	f := File{
		Schema: Schema, Incumbent: "baseline",
		Preview: command("test", "!", "-e", r.path("baseline")),
		Arms: map[string]ArmCommands{
			"baseline":  {Unload: command("rm", "-f", r.path("baseline"))},
			"candidate": {Load: command("touch", r.path("candidate")), Unload: command("rm", "-f", r.path("candidate"))},
		},
		Restore: *command("touch", r.path("baseline")),
		Primary: &Primary{BaseURL: r.urls()["baseline"], Model: "model-a"},
	}
	if named != "" {
		sum := sha256.Sum256([]byte("config"))
		f.Files = []NamedFile{{Path: named, SHA256: hex.EncodeToString(sum[:])}}
	}
	return f
}

func (r *rack) options(t *testing.T, f File) campaign.Options {
	t.Helper()
	p := testPlan(t)
	if err := f.check(p); err != nil {
		t.Fatal(err)
	}
	host := New(f, Config{Plan: p, BaseURLs: r.urls()})
	host.poll = 10 * time.Millisecond
	return campaign.Options{
		Plan: p, Dir: filepath.Join(t.TempDir(), "run"), Version: "test", BaseURLs: r.urls(),
		RestartClock: true, SampleEvery: 50 * time.Millisecond, Lifecycle: host,
	}
}

func journal(t *testing.T, dir string) []record.Entry {
	t.Helper()
	entries, _, err := record.ReadJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// restored reads the checks and the order of the commands from a journal.
func restored(entries []record.Entry) (checks map[string]string, commands []string, end string) {
	checks = map[string]string{}
	for _, e := range entries {
		switch e.Kind {
		case record.EntryRestoreCheck:
			checks[e.Rule] = e.Outcome
		case record.EntryLifecycle:
			commands = append(commands, e.Rule+"="+e.Outcome)
		case record.EntryRestoreEnd:
			end = e.Outcome
		}
	}
	return checks, commands, end
}

var allPass = map[string]string{
	"candidate_absent": "pass", "same_container": "not_evaluable", "health_and_identity": "pass",
	"direct_and_primary_requests": "pass", "primary_readmitted": "pass", "files_unchanged": "pass",
}

func namedFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recipe.toml")
	if err := os.WriteFile(path, []byte("config"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRestorationRunsOnEveryWayOut(t *testing.T) {
	second, _ := testPlan(t).Cell("candidate-natural-ctx2048-c2")
	ofSecond := func(fault string) string { return fmt.Sprintf("%s@seed=%d,index=0", fault, second.Seed) }
	for _, test := range []struct {
		name   string
		faults []string // of the candidate
		rules  string   // that fire, "" for a campaign that runs to its end
	}{
		{"normal end", nil, ""},
		{"engine fault", []string{"engine_dies=2"}, "canary_or_loss engine_fault"},
		{"canary failure", []string{"foreign_marker@index=0"}, "canary_or_loss"},
		{"restart of the candidate", []string{"restart=2"}, "identity_drift"},
		{"another reasoning field", []string{ofSecond("reasoning_old_name")}, "protocol_drift"},
		{"an engine that never rests", []string{ofSecond("stall"), ofSecond("goes_on=60000")}, "canary_or_loss not_drained"},
		{"refused edge", []string{ofSecond("vllm_context_2025")}, "capacity_refusal"},
		{"failed smoke check", []string{"unknown_error"}, "smoke_failed"},
		{"cutoff", nil, "deadline"},
		{"interrupt", nil, "interrupted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRack(t, map[string][]string{"candidate": test.faults})
			o := r.options(t, r.file(namedFile(t)))
			o.Smoke = test.rules == "smoke_failed"
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			switch test.rules {
			case "interrupted":
				o.Progress = &interrupter{arm: "candidate", cancel: func() { cancel(stream.ErrInterrupted) }}
			case "deadline":
				var ahead atomic.Int64
				o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
				o.Progress = &interrupter{arm: "candidate", cancel: func() { ahead.Store(int64(601 * time.Second)) }}
			case "capacity_refusal":
				cellOf(o.Plan, second.ID).Workload = plan.WorkloadEdge
			case "canary_or_loss not_drained":
				cellOf(o.Plan, second.ID).Request.TimeoutSeconds = 2
				o.DrainBound = 3 * time.Second
			}
			summary, err := campaign.Run(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if summary.NotRestored || test.rules == "" && !summary.Complete() {
				t.Errorf("summary %+v", summary)
			}
			entries := journal(t, o.Dir)
			if got := rulesOf(entries); got != test.rules {
				t.Errorf("rules %q, want %q", got, test.rules)
			}
			checks, commands, end := restored(entries)
			if !maps.Equal(checks, allPass) || end != "restored" {
				t.Errorf("end %q, checks %v", end, checks)
			}
			want := "preview while the incumbent runs=failed unload baseline=ok preview after the incumbent was stopped=ok load candidate=ok"
			if got := strings.Join(commands, " "); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "restore baseline=ok") {
				t.Errorf("commands %s", got)
			}
		})
	}
}

func cellOf(p *plan.Plan, id string) *plan.Cell {
	return &p.Cells[slices.IndexFunc(p.Cells, func(c plan.Cell) bool { return c.ID == id })]
}

// rulesOf lists the stop rules that fired.
func rulesOf(entries []record.Entry) string {
	var rules []string
	for _, e := range entries {
		if e.Kind == record.EntryStop {
			rules = append(rules, e.Rule)
		}
	}
	slices.Sort(rules)
	return strings.Join(slices.Compact(rules), " ")
}

// interrupter stops the campaign at the first request of an arm.
type interrupter struct {
	quiet
	arm    string
	cancel func()
}

func (i *interrupter) RequestEnded(c plan.Cell, _ record.Request) {
	if c.Arm == i.arm {
		i.cancel()
	}
}

type quiet struct{}

func (quiet) CellStarted(plan.Cell, int, int)        {}
func (quiet) RequestEnded(plan.Cell, record.Request) {}
func (quiet) CellEnded(plan.Cell, campaign.RunState) {}
func (quiet) Estimated(campaign.Estimate)            {}
func (quiet) Waiting(string)                         {}

func TestAKilledCampaignIsRestoredAtItsNextStart(t *testing.T) {
	r := newRack(t, nil)
	o := r.options(t, r.file(namedFile(t)))
	lost := errors.New("killed")
	// A kill cannot be caught: a lifecycle that never restores stands for it.
	o.Lifecycle = dying{o.Lifecycle, lost}
	o.Progress = &interrupter{arm: "candidate", cancel: func() {}}
	if _, err := campaign.Run(t.Context(), o); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	if _, _, end := restored(journal(t, o.Dir)); end == "restored" {
		t.Fatal("it was restored")
	}
	o.Resume, o.Progress = true, nil
	saved := o.Lifecycle
	o.Lifecycle = nil
	if _, err := campaign.Run(t.Context(), o); !errors.Is(err, campaign.ErrUsage) || !strings.Contains(err.Error(), "--lifecycle") {
		t.Errorf("a resume without the lifecycle file: %v", err)
	}
	o.Lifecycle = saved.(dying).Lifecycle
	summary, err := campaign.Run(t.Context(), o)
	if err != nil || summary.NotRestored {
		t.Fatal(err, summary)
	}
	if checks, _, end := restored(journal(t, o.Dir)); !maps.Equal(checks, allPass) || end != "restored" {
		t.Errorf("end %q, checks %v", end, checks)
	}
}

type dying struct {
	campaign.Lifecycle
	err error
}

func (d dying) Restore(context.Context, map[string]string, func(record.Entry) error) (bool, error) {
	return false, d.err
}

func TestAFailedCheckIsSaidAndIsNotComplete(t *testing.T) {
	named := namedFile(t)
	r := newRack(t, nil)
	f := r.file(named)
	f.Primary.Model = "llm.primary" // never served
	o := r.options(t, f)
	o.Progress = &interrupter{arm: "candidate", cancel: func() {
		if err := os.WriteFile(named, []byte("changed"), 0o600); err != nil {
			t.Error(err)
		}
	}}
	summary, err := campaign.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	checks, _, end := restored(journal(t, o.Dir))
	if !summary.NotRestored || summary.Complete() || end != "not_restored" ||
		checks["files_unchanged"] != "fail" || checks["primary_readmitted"] != "fail" || checks["direct_and_primary_requests"] != "fail" || checks["candidate_absent"] != "pass" {
		t.Errorf("%+v %q %v", summary, end, checks)
	}
}

func TestNothingIsChangedWhenAPreconditionFails(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, f *File){
		"a changed file":               func(_ *testing.T, f *File) { f.Files[0].SHA256 = strings.Repeat("0", 64) },
		"a preview that never refuses": func(_ *testing.T, f *File) { f.Preview = &Command{Argv: []string{"true"}, BoundSeconds: 5} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRack(t, nil)
			f := r.file(namedFile(t))
			change(t, &f)
			o := r.options(t, f)
			if _, err := campaign.Run(t.Context(), o); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "nothing was changed") {
				t.Fatal(err)
			}
			for _, e := range journal(t, o.Dir) {
				if e.Kind == record.EntryRestoreBegin || strings.HasPrefix(e.Rule, "unload") {
					t.Errorf("the host was changed: %+v", e)
				}
			}
		})
	}
}

func TestACommandThatHangsIsEndedAtItsBoundWithItsChildren(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "late")
	c := Command{Argv: []string{"sh", "-c", "sleep 30; touch " + marker + " & sleep 30"}, BoundSeconds: 1}
	start := time.Now()
	e := c.run(t.Context(), "hangs")
	if took := time.Since(start); e.Outcome != outcomeTimeout || took > 20*time.Second {
		t.Errorf("%+v after %s", e, took)
	}
}

func TestASecretInAnOutputIsNowhereOnDisk(t *testing.T) {
	t.Setenv("ASSAY_TEST_API_KEY", "very-private-value-17")
	const bearer = "sk-abcdefghijklmnop123456"
	r := newRack(t, nil)
	f := r.file(namedFile(t))
	f.Arms["candidate"].Load.Argv = []string{"sh", "-c", `echo "key $ASSAY_TEST_API_KEY"; echo "Authorization: Bearer ` + bearer + `" >&2; echo "at /home/jane/models/x.toml"; touch ` + r.path("candidate")}
	o := r.options(t, f)
	if _, err := campaign.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	output := ""
	for _, e := range journal(t, o.Dir) {
		if e.Kind == record.EntryLifecycle && e.Rule == "load candidate" {
			output = e.Facts["output"]
		}
	}
	if !strings.Contains(output, "key [REDACTED]") {
		t.Errorf("output %q", output)
	}
	err := filepath.WalkDir(o.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{"very-private-value-17", bearer, "/home/jane"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds %q", filepath.Base(path), secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBadLifecycleFiles(t *testing.T) {
	p := testPlan(t)
	good := File{Schema: Schema, Incumbent: "baseline", Restore: Command{Argv: []string{"x"}},
		Arms: map[string]ArmCommands{"baseline": {Unload: &Command{Argv: []string{"x"}}}, "candidate": {Load: &Command{Argv: []string{"x"}}, Unload: &Command{Argv: []string{"x"}}}}}
	for name, test := range map[string]struct {
		edit func(map[string]any)
		want string
	}{
		"good":             {func(map[string]any) {}, ""},
		"another schema":   {func(m map[string]any) { m["schema"] = "x" }, "/schema"},
		"unknown field":    {func(m map[string]any) { m["shell"] = true }, "unknown field"},
		"no such arm":      {func(m map[string]any) { m["incumbent"] = "other" }, "/incumbent"},
		"no program":       {func(m map[string]any) { m["restore"] = map[string]any{"argv": []string{}} }, "/restore/argv"},
		"a bound too long": {func(m map[string]any) { m["restore"] = map[string]any{"argv": []string{"x"}, "bound_seconds": 99999} }, "bound_seconds"},
		"no unload":        {func(m map[string]any) { m["arms"] = map[string]any{} }, "/arms/candidate"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(good)
			if err != nil {
				t.Fatal(err)
			}
			var loose map[string]any
			if err := json.Unmarshal(text, &loose); err != nil {
				t.Fatal(err)
			}
			test.edit(loose)
			if text, err = json.Marshal(loose); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "l.json")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Load(path, p)
			if (err == nil) != (test.want == "") || err != nil && (!errors.Is(err, ErrFile) || !strings.Contains(fmt.Sprint(err), test.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheExampleFileFitsTheExamplePlan(t *testing.T) {
	spec, err := os.ReadFile("../../examples/glm53-serving.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, problems := plan.Expand(spec, time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if _, err := Load("../../examples/lifecycle.json", p); err != nil {
		t.Error(err)
	}
}
