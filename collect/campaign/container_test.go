package campaign

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// dockerSocket plays the Docker Engine for one container.
func dockerSocket(t *testing.T, state func() string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/containers/engine-a/json" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, state())
	})}
	go func() { _ = server.Serve(listener) }() // ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return path
}

func TestContainerThatChangesEndsItsArm(t *testing.T) {
	id := strings.Repeat("ab", 32)
	for name, test := range map[string]struct {
		later string
		rule  StopRule
	}{
		"restarted":         {`{"Id":"` + id + `","Image":"sha256:1","RestartCount":1,"State":{"Status":"running","Pid":1}}`, StopIdentityDrift},
		"another image":     {`{"Id":"` + id + `","Image":"sha256:2","RestartCount":0,"State":{"Status":"running","Pid":1}}`, StopIdentityDrift},
		"killed for memory": {`{"Id":"` + id + `","Image":"sha256:1","RestartCount":0,"State":{"Status":"running","OOMKilled":true,"Pid":1}}`, StopEngineFault},
		"exited":            {`{"Id":"` + id + `","Image":"sha256:1","RestartCount":0,"State":{"Status":"exited","ExitCode":137}}`, StopEngineFault},
	} {
		t.Run(name, func(t *testing.T) {
			var changed atomic.Bool
			_, a := sim(t, "model-a", nil)
			o := options(t, smallPlan(t, nil), a, a)
			o.OnlyArm = "baseline"
			o.Containers = map[string]string{"baseline": "engine-a"}
			o.DockerSocket = dockerSocket(t, func() string {
				if changed.Load() {
					return test.later
				}
				return `{"Id":"` + id + `","Image":"sha256:1","RestartCount":0,"State":{"Status":"running","Pid":1}}`
			})
			o.Progress = &counting{after: func(int64) { changed.Store(true) }}
			summary, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			entries := journal(t, o.Dir)
			if rules := rulesOf(entries); !slices.Equal(rules, []string{string(test.rule)}) || summary.States[StateBlocked] != 2 {
				t.Errorf("rules %v, states %v", rules, summary.States)
			}
			for _, s := range summary.Stops {
				if strings.Contains(s.Detail, id) {
					t.Error("the evidence quotes a container id")
				}
			}
		})
	}
}

func TestContainerThatIsNotVisibleIsAProblemAndStopsNothing(t *testing.T) {
	_, a := sim(t, "model-a", nil)
	o := options(t, smallPlan(t, nil), a, a)
	o.OnlyArm, o.CellGlob = "baseline", "*warmup*"
	o.Containers, o.DockerSocket = map[string]string{"baseline": "engine-a"}, filepath.Join(t.TempDir(), "none.sock")
	if summary, err := Run(t.Context(), o); err != nil || summary.States[StateComplete] != 1 {
		t.Fatal(err, summary)
	}
	if codes := problemCodes(t, o.Dir, "baseline", "baseline-warmup-ctx4096-c1", 1); !slices.Contains(codes, "container_not_visible") {
		t.Errorf("problems %v", codes)
	}
}
