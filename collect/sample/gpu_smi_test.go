package sample

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

// fakeSMI is a program that does what the script says. It keeps the arguments of
// each run in the file args, one run a line.
func fakeSMI(t *testing.T, script string) (g *smiGPU, args string) {
	t.Helper()
	dir := t.TempDir()
	args = filepath.Join(dir, "args")
	put(t, dir, "nvidia-smi", "#!/bin/sh\necho \"$@\" >>'"+args+"'\n"+script)
	if err := os.Chmod(filepath.Join(dir, "nvidia-smi"), 0o700); err != nil {
		t.Fatal(err)
	}
	g, ok := newSMI(filepath.Join(dir, "nvidia-smi"), "no NVIDIA driver library").(*smiGPU)
	if !ok {
		t.Fatal("not an nvidia-smi reader")
	}
	g.bound = time.Minute // of the script, which ends at once
	return g, args
}

func runs(t *testing.T, args string) []string {
	t.Helper()
	text, err := os.ReadFile(args)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

const twoGPUs = `cat <<'END'
0, GPU-first, Example GPU, 580.95.05, 81920, 600, 70000, 11320, 97, 40, 251.48, 240.10, 310.00, 400.00, 1410, 1400, 1215, P2, 55, 0x0000000000000004, 0x0000000000000004, 4, 16, 0, 1
1, GPU-second, Example GPU, 580.95.05, [N/A], [N/A], [N/A], [N/A], [N/A], [Not Supported], [Unknown Error], 12.5W, -3, [N/A], 345, 345, 405, P8, 31, [N/A], [N/A], 1, 16, [N/A], [N/A]
END
`

func TestSMIReadsEveryGPU(t *testing.T) {
	g, args := fakeSMI(t, twoGPUs)
	rows := g.Read(record.NewAnchor())
	if len(rows) != 2 {
		t.Fatalf("%+v", rows)
	}
	first := rows[0]
	everyNullHasAReason(t, record.GPU, first, first.Missing)
	if why := reasons(t, first.Missing); why["energy_mj"] != "nvidia-smi does not give it" || len(why) != 6 {
		t.Errorf("reasons %v", why)
	}
	if first.AtUnixNs == 0 {
		t.Error("reading has no time")
	}
	first.AtNs, first.AtUnixNs, first.Missing = 0, 0, nil
	want := record.GPUSample{
		Status: "ok", GPUIndex: of[int64](0), UUID: "GPU-first", Name: "Example GPU", Source: of("nvidia-smi"), DriverVersion: of("580.95.05"), MemoryAPI: of("nvidia-smi"),
		MemoryTotalBytes: of[int64](81920 << 20), MemoryReservedBytes: of[int64](600 << 20), MemoryUsedBytes: of[int64](70000 << 20), MemoryFreeBytes: of[int64](11320 << 20),
		UtilizationPercent: of[int64](97), MemoryBusyPercent: of[int64](40), PowerMilliwatts: of[int64](251480), PowerAverageMilliwatts: of[int64](240100),
		PowerInstantMilliwatts: of[int64](310000), PowerLimitMilliwatts: of[int64](400000), SMClockMHz: of[int64](1410), GraphicsClockMHz: of[int64](1400), MemoryClockMHz: of[int64](1215),
		PerformanceState: of[int64](2), TemperatureC: of[int64](55), ThrottleReasons: of[int64](4), PCIeGen: of[int64](4), PCIeWidth: of[int64](16),
		ECCCorrected: of[int64](0), ECCUncorrected: of[int64](1),
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error("first GPU (-want +got):\n", diff)
	}
	if got := runs(t, args); len(got) != 1 || !strings.HasPrefix(got[0], "--query-gpu=index,uuid,name,") || !strings.HasSuffix(got[0], " --format=csv,noheader,nounits") {
		t.Errorf("run as %q", got)
	}
}

// TestSMIMarksAreNullAndTheRestSurvives is case E01 and E07: a cell that holds a
// mark, or no number, is null with its reason and the others are read.
func TestSMIMarksAreNullAndTheRestSurvives(t *testing.T) {
	g, _ := fakeSMI(t, twoGPUs)
	second := g.Read(record.NewAnchor())[1]
	everyNullHasAReason(t, record.GPU, second, second.Missing)
	why := reasons(t, second.Missing)
	for column, reason := range map[string]string{
		"memory_total_bytes": "not available", "memory_busy_percent": "not supported", "power_mw": "unknown error", "power_average_mw": "not a number",
		"power_instant_mw": "not a number", "throttle_reasons": "not available",
	} {
		if why[column] != reason {
			t.Errorf("%s is null for %q, want %q", column, why[column], reason)
		}
	}
	if second.Status != "ok" || *second.TemperatureC != 31 || *second.PerformanceState != 8 {
		t.Errorf("the rest is lost: %+v", second)
	}
}

// TestSMIFailureIsSaidOnceAndNeverReadAsData is case E03.
func TestSMIFailureIsSaidOnceAndNeverReadAsData(t *testing.T) {
	for script, status := range map[string]string{
		"echo 'Failed to initialize NVML: Driver/library version mismatch'\nexit 18\n": "unavailable: no NVIDIA driver library; NVIDIA driver and library versions differ: reboot the host",
		"echo 'No devices were found'\nexit 6\n":                                       "unavailable: no NVIDIA driver library; no GPU",
		"echo 0, GPU-first\nexit 1\n":                                                  "unavailable: no NVIDIA driver library; nvidia-smi exits with status 1",
		"echo 'Failed to initialize NVML: Driver/library version mismatch'\n":          "unavailable: no NVIDIA driver library; nvidia-smi answers with something else than readings",
		"true\n": "unavailable: no NVIDIA driver library; no GPU",
		"echo 'x, GPU-first, G, 5" + strings.Repeat(", 1", 21) + "'\n": "unavailable: no NVIDIA driver library; nvidia-smi answers with something else than readings",
	} {
		g, args := fakeSMI(t, script)
		rows := g.Read(record.NewAnchor())
		if len(rows) != 1 || rows[0].Status != status || rows[0].UUID != "" {
			t.Errorf("%q: %+v, want status %q", script, rows, status)
		}
		if again := g.Read(record.NewAnchor()); len(again) != 0 || len(runs(t, args)) != 1 {
			t.Errorf("%q: second reading has %d rows after %d runs", script, len(again), len(runs(t, args)))
		}
	}
}

func TestSMIFailureAfterReadingsIsSaidEachTime(t *testing.T) {
	g, args := fakeSMI(t, "if [ $(wc -l <\"$(dirname $0)/args\") -gt 1 ]; then exit 1; fi\n"+twoGPUs)
	if rows := g.Read(record.NewAnchor()); len(rows) != 2 {
		t.Fatalf("%+v", rows)
	}
	for range 2 {
		if rows := g.Read(record.NewAnchor()); len(rows) != 1 || rows[0].Status != "unavailable: nvidia-smi exits with status 1" {
			t.Errorf("%+v", rows)
		}
	}
	if n := len(runs(t, args)); n != 3 {
		t.Errorf("%d runs", n)
	}
}

func TestSMINamesALostGPU(t *testing.T) {
	g, _ := fakeSMI(t, "echo 'Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost.'\nexit 15\n")
	for range 2 {
		if rows := g.Read(record.NewAnchor()); len(rows) != 1 || !Lost(rows[0].Status) {
			t.Errorf("%+v", rows)
		}
	}
	g, _ = fakeSMI(t, strings.ReplaceAll(twoGPUs, "[Unknown Error]", "[GPU is lost]"))
	if rows := g.Read(record.NewAnchor()); len(rows) != 2 || rows[0].Status != "ok" || !Lost(rows[1].Status) {
		t.Errorf("%+v", rows)
	}
}

// TestSMIThatHangsIsEnded is the first half of case E04.
func TestSMIThatHangsIsEnded(t *testing.T) {
	g, _ := fakeSMI(t, "exec sleep 600\n")
	g.bound = 100 * time.Millisecond
	if rows := g.Read(record.NewAnchor()); len(rows) != 1 || rows[0].Status != "hung: nvidia-smi did not end in time" {
		t.Errorf("%+v", rows)
	}
}

func TestSMIOfAnOldDriverLosesOnlyTheFieldsItDoesNotKnow(t *testing.T) {
	g, args := fakeSMI(t, `case "$1" in
*power.draw.average*) echo 'Field "power.draw.average" is not a valid field to query.'; exit 2;;
*clocks_event_reasons*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2;;
esac
echo "0, GPU-first, Example GPU, 470.1, 100, 1, 50, 49, 1, 1, 20.5, 30.5, 40.0, 300, 300, 300, P0, 40, 0x0000000000000001, 1, 1, 0, 0"
`)
	for range 2 {
		rows := g.Read(record.NewAnchor())
		if len(rows) != 1 || rows[0].Status != "ok" || *rows[0].ThrottleReasons != 1 || rows[0].PowerAverageMilliwatts != nil {
			t.Fatalf("%+v", rows)
		}
	}
	if n := len(runs(t, args)); n != 4 {
		t.Errorf("%d runs, want three for the first reading and one for the second", n)
	}
}

func TestSMIIsAskedWhereNVMLCannotBeLoaded(t *testing.T) {
	g, _ := fakeSMI(t, twoGPUs)
	none := &noGPU{reason: "built without NVML"}
	if got := orSMI(none, g.program); got == GPU(none) {
		t.Error("the program is not asked")
	} else if rows := got.Read(record.NewAnchor()); len(rows) != 2 {
		t.Errorf("%+v", rows)
	}
	if got := orSMI(none, ""); got != GPU(none) {
		t.Error("there is no program to ask")
	}
	if works := GPU(&scriptedGPU{}); orSMI(works, g.program) != works {
		t.Error("a driver that works is left for the program")
	}
}
