package sample

import (
	"testing"

	"assay/collect/record"
)

func TestNoGPUSaysSoOnce(t *testing.T) {
	g := &noGPU{reason: "built without NVML"}
	rows := g.Read(record.NewAnchor())
	if len(rows) != 1 || rows[0].Status != "unavailable: built without NVML" || rows[0].GPUIndex != nil || rows[0].AtUnixNs == 0 {
		t.Errorf("first reading = %+v, want one row that says why", rows)
	}
	if again := g.Read(record.NewAnchor()); len(again) != 0 {
		t.Errorf("second reading has %d rows, want none", len(again))
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// Without a driver this shows that nothing of NVML is called after a failed
// start, since that would end the test's process.
func TestOpenGPUAlwaysGivesAReading(t *testing.T) {
	g := OpenGPU()
	if rows := g.Read(record.NewAnchor()); len(rows) == 0 || rows[0].Status == "" {
		t.Errorf("first reading = %+v, want rows with a status", rows)
	}
	g.Read(record.NewAnchor())
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
