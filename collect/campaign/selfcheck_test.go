package campaign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

func TestRunKeepsTheSelfCheckOfItsHost(t *testing.T) {
	_, a := sim(t, "model-a", nil)
	rate := int64(100)
	rows := []record.SelfCheck{
		{Mode: "paced", Streams: 64, RatePerStream: &rate, StampSource: "kernel", ErrorP50Us: 4.6, ErrorP99Us: 12.125, ErrorMaxUs: 485, CPUUsPerEvent: 15.5, EventsPerS: 6400, MergedShare: 0.001},
		{Mode: "flood", Streams: 64, StampSource: "read", CPUUsPerEvent: 0.7, EventsPerS: 1_430_000, Lost: 1},
	}
	for name, tt := range map[string]struct {
		check      func(context.Context) ([]record.SelfCheck, error)
		want       []record.SelfCheck
		wantReason string
	}{
		"measured": {check: func(context.Context) ([]record.SelfCheck, error) { return rows, nil }, want: rows},
		"failed": {
			check:      func(context.Context) ([]record.SelfCheck, error) { return rows, errors.New("the server did not start") },
			wantReason: "the server did not start",
		},
		"off": {wantReason: "switched off"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, smallPlan(t, nil), a, a)
			o.OnlyArm, o.CellGlob = "baseline", "*warmup*"
			calls := 0
			if tt.check != nil {
				o.SelfCheck = func(ctx context.Context) ([]record.SelfCheck, error) {
					calls++
					if _, err := os.Stat(filepath.Join(o.Dir, record.LockName)); !errors.Is(err, os.ErrNotExist) {
						t.Errorf("the plan is locked already: %v", err)
					}
					return tt.check(ctx)
				}
			}
			if _, err := Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if tt.check != nil && calls != 1 {
				t.Errorf("the self-check ran %d times", calls)
			}
			got, err := record.LoadRun(o.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.SelfCheck); diff != "" || got.SelfCheckNotRun != tt.wantReason {
				t.Errorf("reason %q, rows (-want +got):\n%s", got.SelfCheckNotRun, diff)
			}
		})
	}
}
