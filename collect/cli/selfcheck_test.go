package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

func selfcheckRows() []record.SelfCheck {
	rate := int64(100)
	return []record.SelfCheck{
		{Mode: "paced", Streams: 256, RatePerStream: &rate, StampSource: "kernel", ErrorP50Us: 3.012, ErrorP99Us: 5.25, ErrorMaxUs: 162.2,
			CPUUsPerEvent: 15.504, EventsPerS: 25600, MergedShare: 0.0025},
		{Mode: "flood", Streams: 4, StampSource: "read", ErrorP50Us: 2623.9, ErrorP99Us: 62093.3, ErrorMaxUs: 137169.8,
			CPUUsPerEvent: 0.681, EventsPerS: 1468033.4, Lost: 2, MergedShare: 0.967},
	}
}

func TestSelfcheckTableHasOneLineForEachLoadAndSource(t *testing.T) {
	var out strings.Builder
	if err := writeSelfcheck(&out, selfcheckRows()); err != nil {
		t.Fatal(err)
	}
	want := `   mode  streams  rate/stream    time  p50 us   p99 us    max us  cpu us/event  events/s  lost  merged
  paced      256          100  kernel     3.0      5.2     162.2         15.50     25600     0   0.25%
  flood        4            -    read  2623.9  62093.3  137169.8          0.68   1468033     2  96.70%
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestSelfcheckJSONHasExactlyTheDocumentedKeys(t *testing.T) {
	var out strings.Builder
	if err := writeSelfcheckJSON(&out, selfcheckRows()); err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	if err := json.Unmarshal([]byte(out.String()), &objects); err != nil {
		t.Fatal(err)
	}
	keys := strings.Fields("cpu_us_per_event error_max_us error_p50_us error_p99_us events_per_s lost merged_share mode rate_per_stream stamp_source streams")
	for _, o := range objects {
		if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(o))); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
	if len(objects) != 2 || objects[0]["rate_per_stream"] != 100.0 || objects[1]["rate_per_stream"] != nil {
		t.Errorf("objects %v", objects)
	}
}
