package selfcheck

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

func TestNearestRankIsAlwaysAnObservedValue(t *testing.T) {
	upTo := func(n int64) []int64 {
		v := make([]int64, n)
		for i := range v {
			v[i] = int64(i) + 1
		}
		return v
	}
	for _, tt := range []struct {
		n    int64
		q    int
		want int64
	}{{1, 50, 1}, {1, 99, 1}, {2, 50, 1}, {3, 50, 2}, {4, 50, 2}, {20, 99, 20}, {100, 99, 99}, {101, 99, 100}, {1000, 50, 500}, {1000, 99, 990}} {
		if got := nearestRank(upTo(tt.n), tt.q); got != tt.want {
			t.Errorf("p%d of 1..%d is %d, want %d", tt.q, tt.n, got, tt.want)
		}
	}
}

// example is a paced load of two streams with a window of 1,000 to 2,000: the
// first stream's first event is left out, the second's second event is lost.
func example() observed {
	return observed{
		load:   Load{Mode: Paced, Streams: 2, Rate: 100},
		window: window{fromNs: 1000, toNs: 2000, cpuNs: 100},
		sent:   []int64{3, 3},
		streams: [][]sample{
			{
				{seq: 0, sentNs: 900, arrivedNs: 905, readNs: 999, kernel: true},
				{seq: 1, sentNs: 1100, arrivedNs: 1104, readNs: 1150, kernel: true, merged: true},
				{seq: 2, sentNs: 1130, arrivedNs: 1134, readNs: 1150, kernel: true},
			},
			{
				{seq: 0, sentNs: 990, arrivedNs: 1000, readNs: 1000},
				{seq: 2, sentNs: 1990, arrivedNs: 1991, readNs: 2000, kernel: true},
			},
		},
	}
}

func TestFiguresCountTheWindowAndLossesEverywhere(t *testing.T) {
	rate := int64(100)
	row := record.SelfCheck{
		Mode: Paced, Streams: 2, RatePerStream: &rate, CPUUsPerEvent: 0.033, EventsPerS: 3e6,
		Lost: 1, MergedShare: 0.333333,
	}
	kernel, read := row, row
	kernel.StampSource, kernel.ErrorP50Us, kernel.ErrorP99Us, kernel.ErrorMaxUs = "kernel", 0.004, 0.010, 0.010
	read.StampSource, read.ErrorP50Us, read.ErrorP99Us, read.ErrorMaxUs = "read", 0.020, 0.050, 0.050
	got, err := example().figures()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]record.SelfCheck{kernel, read}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestFiguresOfAFloodAreForEachSecondOfCPU(t *testing.T) {
	o := example()
	o.load = Load{Mode: Flood, Streams: 2}
	got, err := o.figures()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		if r.EventsPerS != 3e7 || r.RatePerStream != nil {
			t.Errorf("%v events per second, rate %v", r.EventsPerS, r.RatePerStream)
		}
	}
}

func TestFiguresWithoutKernelStampsHaveNoKernelRow(t *testing.T) {
	o := example()
	for _, samples := range o.streams {
		for i := range samples {
			samples[i].kernel = false
		}
	}
	got, err := o.figures()
	if err != nil || len(got) != 1 || got[0].StampSource != "read" {
		t.Errorf("rows %+v, error %v", got, err)
	}
}

func TestFiguresOfNothingAreAnError(t *testing.T) {
	o := example()
	o.window.fromNs, o.window.toNs = 5000, 6000
	if rows, err := o.figures(); err == nil {
		t.Errorf("rows %+v", rows)
	}
}

func TestRawFileHasARowForEveryEventSent(t *testing.T) {
	var out bytes.Buffer
	raw := newRawWriter(&out)
	flood := example()
	flood.load = Load{Mode: Flood, Streams: 2}
	for _, o := range []observed{example(), flood} {
		if err := raw.write(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := raw.flush(); err != nil {
		t.Fatal(err)
	}
	paced := `paced,2,100,0,0,900,905,999,kernel,0,0,1000,100
paced,2,100,0,1,1100,1104,1150,kernel,1,1,1000,100
paced,2,100,0,2,1130,1134,1150,kernel,0,1,1000,100
paced,2,100,1,0,990,1000,1000,read,0,1,1000,100
paced,2,100,1,1,,,,,,0,1000,100
paced,2,100,1,2,1990,1991,2000,kernel,0,0,1000,100
`
	want := RawHeader + paced + strings.ReplaceAll(paced, "paced,2,100,", "flood,2,,")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("raw file (-want +got):\n%s", diff)
	}
}
