package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay/collect/record"
)

// playedGPU gives the statuses of two GPUs, one pair a reading; the last goes on.
type playedGPU struct {
	statuses [][2]string
	reads    int
	closed   bool
}

func (g *playedGPU) Read(anchor record.Anchor) []record.GPUSample {
	now := g.statuses[min(g.reads, len(g.statuses)-1)]
	g.reads++
	rows := make([]record.GPUSample, 2)
	for i := range rows {
		index := int64(i)
		rows[i] = record.GPUSample{Status: now[i], GPUIndex: &index, UUID: fmt.Sprintf("GPU-%d", i)}
		rows[i].AtNs, rows[i].AtUnixNs = anchor.Now()
	}
	return rows
}

func (g *playedGPU) Close() error {
	g.closed = true
	return nil
}

// TestLostGPUIsAnEngineFault is the second half of case E04: a GPU that is gone, or
// must be reset, ends all dispatch at once.
func TestLostGPUIsAnEngineFault(t *testing.T) {
	for _, status := range []string{"lost", "reset required"} {
		t.Run(status, func(t *testing.T) {
			_, a := sim(t, "model-a", nil)
			_, b := sim(t, "model-b", nil)
			o := options(t, smallPlan(t, nil), a, b)
			gpu := &playedGPU{statuses: [][2]string{{"ok", "ok"}, {"ok", status}}}
			o.GPU = gpu
			summary, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			entries := journal(t, o.Dir)
			if rules := rulesOf(entries); !slices.Equal(rules, []string{string(StopEngineFault)}) || summary.States[StateBlocked] != 5 {
				t.Errorf("rules %v, states %v", rules, summary.States)
			}
			if len(summary.Stops) != 1 || summary.Stops[0].Detail != "the driver says of a GPU: "+status {
				t.Errorf("stops %+v", summary.Stops)
			}
			codes := problemCodes(t, o.Dir, "baseline", "baseline-warmup-ctx4096-c1", 1)
			if n := len(slices.DeleteFunc(codes, func(c string) bool { return c != "gpu_lost" })); n != 1 {
				t.Errorf("%d problems for one lost GPU: %v", n, codes)
			}
			if !gpu.closed {
				t.Error("the driver is still in use")
			}
		})
	}
}

func TestHungDriverIsAProblemAndStopsNothing(t *testing.T) {
	_, a := sim(t, "model-a", nil)
	o := options(t, smallPlan(t, nil), a, a)
	o.OnlyArm, o.CellGlob = "baseline", "*warmup*"
	hung := [2]string{"hung: the driver did not answer in time", "hung: the driver did not answer in time"}
	o.GPU = &playedGPU{statuses: [][2]string{{"ok", "ok"}, hung, {"ok", "ok"}}}
	summary, err := Run(t.Context(), o)
	if err != nil || summary.States[StateComplete] != 1 || len(summary.Stops) != 0 {
		t.Fatal(err, summary)
	}
	codes := problemCodes(t, o.Dir, "baseline", "baseline-warmup-ctx4096-c1", 1)
	if diff := slices.DeleteFunc(codes, func(c string) bool { return !strings.HasPrefix(c, "gpu_") }); !slices.Equal(diff, []string{"gpu_driver_hung", "gpu_driver_answers"}) {
		t.Errorf("problems %v", diff)
	}
}

// playedGroup is a control group of a container with process 42, with a Docker
// Engine that says so.
type playedGroup struct{ proc, base, socket, folder string }

func playGroup(t *testing.T) playedGroup {
	t.Helper()
	root := t.TempDir()
	g := playedGroup{proc: filepath.Join(root, "proc"), base: filepath.Join(root, "host"), folder: filepath.Join(root, "host", "cgroup", "docker-ab.scope")}
	for path, text := range map[string]string{
		filepath.Join(g.proc, "42", "cgroup"):      "0::/docker-ab.scope\n",
		filepath.Join(g.proc, "self", "mountinfo"): "41 31 0:38 / /cgroup rw - cgroup2 cgroup2 rw\n",
	} {
		writeText(t, path, text)
	}
	g.fill(t, 0)
	g.socket = dockerSocket(t, func() string {
		return `{"Id":"` + strings.Repeat("ab", 32) + `","Image":"sha256:1","RestartCount":0,"State":{"Status":"running","Pid":42}}`
	})
	return g
}

func (g playedGroup) fill(t *testing.T, kills int) {
	t.Helper()
	writeText(t, filepath.Join(g.folder, "memory.current"), "1000\n")
	writeText(t, filepath.Join(g.folder, "memory.events"), fmt.Sprintf("max 0\noom %d\noom_kill %d\n", kills, kills))
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestControlGroupIsWatched plays a control group that is made anew under its name
// (case E13), and one in which a process is killed for memory.
func TestControlGroupIsWatched(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, g playedGroup)
		rule   StopRule
		detail string
	}{
		"made anew": {func(t *testing.T, g playedGroup) {
			// The old folder stays, so that its inode is not given to the new one.
			if err := os.Rename(g.folder, g.folder+".old"); err != nil {
				t.Error(err)
			}
			g.fill(t, 0)
		}, StopIdentityDrift, "cgroup_inode changed; seen after the cell"},
		"killed for memory": {func(t *testing.T, g playedGroup) { g.fill(t, 1) }, StopEngineFault,
			"the kernel killed a process of the engine's control group for memory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, a := sim(t, "model-a", nil)
			o := options(t, smallPlan(t, nil), a, a)
			g := playGroup(t)
			o.OnlyArm, o.Containers, o.DockerSocket = "baseline", map[string]string{"baseline": "engine-a"}, g.socket
			o.proc, o.cgroupBase = g.proc, g.base
			var once atomic.Bool
			o.Progress = &counting{after: func(int64) {
				if once.CompareAndSwap(false, true) {
					test.change(t, g)
				}
			}}
			summary, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if rules := rulesOf(journal(t, o.Dir)); !slices.Equal(rules, []string{string(test.rule)}) || summary.States[StateBlocked] != 2 {
				t.Errorf("rules %v, states %v", rules, summary.States)
			}
			if len(summary.Stops) != 1 || summary.Stops[0].Detail != test.detail {
				t.Errorf("stops %+v", summary.Stops)
			}
		})
	}
}

// TestContainerStartedAnewIsReadInItsNewGroup moves the container's process to
// another group between two cells: the readings follow.
func TestContainerStartedAnewIsReadInItsNewGroup(t *testing.T) {
	_, a := sim(t, "model-a", nil)
	o := options(t, smallPlan(t, nil), a, a)
	g := playGroup(t)
	o.OnlyArm, o.Containers, o.DockerSocket, o.StopsBlockNothing = "baseline", map[string]string{"baseline": "engine-a"}, g.socket, true
	o.proc, o.cgroupBase = g.proc, g.base
	moved := g
	moved.folder = filepath.Join(filepath.Dir(g.folder), "docker-cd.scope")
	var once atomic.Bool
	o.Progress = &counting{after: func(int64) {
		if once.CompareAndSwap(false, true) {
			moved.fill(t, 0)
			writeText(t, filepath.Join(g.proc, "42", "cgroup"), "0::/docker-cd.scope\n")
		}
	}}
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	inodes := map[int64]bool{}
	for _, c := range ofArm(o.Plan.Cells, "baseline") {
		rows, err := record.ReadTable(filepath.Join(o.Dir, record.AttemptFolder(c.Arm, c.ID, 1)), record.Cgroup)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Inode == nil {
				t.Fatalf("%s: a reading without a group: %+v", c.ID, row)
			}
			inodes[*row.Inode] = true
		}
	}
	if len(inodes) != 2 {
		t.Errorf("%d groups were read, want the first and the second", len(inodes))
	}
	if rules := rulesOf(journal(t, o.Dir)); !slices.Contains(rules, string(StopIdentityDrift)) {
		t.Errorf("rules %v", rules)
	}
}

func TestPreflightLooksAtEveryGPU(t *testing.T) {
	for status, want := range map[string]Verdict{
		"ok": CheckOK, "lost": CheckFail, "reset required": CheckFail, "unavailable: NVML error 4": CheckWarn, "hung: the driver did not answer in time": CheckWarn,
	} {
		o := options(t, smallPlan(t, nil), "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1")
		o.GPU = &playedGPU{statuses: [][2]string{{"ok", status}}}
		checks, err := Preflight(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "GPU" })
		if i < 0 || checks[i].Verdict != want || (want == CheckOK) != (checks[i].Fix == "") {
			t.Errorf("%s: %+v, want %s", status, checks, want)
		}
	}
}
