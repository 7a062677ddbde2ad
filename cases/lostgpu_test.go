package cases

import (
	"strings"
	"testing"

	"assay/collect/record"
	"assay/collect/simengine"
)

// losingGPU is a simulated pair of GPUs whose second one falls off the bus.
type losingGPU struct {
	*simengine.GPU
	reads int
}

func (g *losingGPU) Read(anchor record.Anchor) []record.GPUSample {
	rows := g.GPU.Read(anchor)
	if g.reads++; g.reads > 2 {
		s := rows[1]
		rows[1] = record.GPUSample{Status: "lost", GPUIndex: s.GPUIndex, UUID: s.UUID, AtNs: s.AtNs, AtUnixNs: s.AtUnixNs}
	}
	return rows
}

// TestLostGPUStopsACampaign goes the whole way of case E04: the collector ends the
// campaign, and the database says why and what was not run.
func TestLostGPUStopsACampaign(t *testing.T) {
	db := playFaults(t, &faultCampaign{
		id: "lost", gpu: &losingGPU{GPU: simengine.NewGPU(2)},
		cells: []faultCell{{name: "first", requests: 4}, {name: "second"}},
	})
	for query, want := range map[string]string{
		"SELECT rule, arm, detail, blocks FROM stops":                                              `engine_fault|baseline|the driver says of a GPU: lost|["baseline-second-ctx1024-c1"]`,
		"SELECT count(*) FROM problems WHERE code = 'gpu_lost'":                                    "1",
		"SELECT run_state FROM counted_attempts WHERE cell = 'baseline-second-ctx1024-c1'":         "blocked_by_stop",
		"SELECT DISTINCT gpu_index, gpu, energy_mj IS NULL FROM gpu_samples WHERE status = 'lost'": "1|gpu-2|true",
		"SELECT count(*) > 0 FROM gpu_figures WHERE gpu = 'gpu-2' AND contains(reason, 'lost')":    "true",
		"SELECT errors > 0 FROM sampling_intervals WHERE source = 'gpu'":                           "true",
	} {
		if got := strings.Join(db.list(t, query), "\n"); got != want {
			t.Errorf("%s\n got: %s\nwant: %s", query, got, want)
		}
	}
}
