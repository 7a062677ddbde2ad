package simengine

import (
	"fmt"
	"time"

	"assay/collect/record"
)

// Figures of a simulated GPU. They are round numbers, measured from nothing.
const (
	gpuMemory   = 96 << 30 // bytes
	gpuReserved = 600 << 20
	gpuEngine   = 84 << 30 // weights and KV pool, taken when the engine starts
	gpuRequest  = 96 << 20 // working memory of a request
	gpuIdleMW   = 70_000
	gpuBusyMW   = 180_000 // added while anything runs
	gpuEachMW   = 30_000  // added for each request that runs
	gpuLimitMW  = 450_000
)

// GPU stands for the GPUs of a simulated host: their readings follow the requests
// that run in its engines. It reads like a GPU of package sample. The energy
// counter adds up the power between readings. Not safe for concurrent use.
type GPU struct {
	load   func() int
	count  int
	energy float64 // mJ of each GPU
	last   time.Time
	power  int64 // mW since the last reading
}

// NewGPU makes count GPUs that work for these engines.
func NewGPU(count int, engines ...*Engine) *GPU {
	return &GPU{count: count, load: func() int {
		running := 0
		for _, e := range engines {
			if p := e.current(); p != nil { // nil until it is served
				running += p.sched.batch()
			}
		}
		return running
	}}
}

// Read takes one reading: one row per GPU, all alike.
func (g *GPU) Read(anchor record.Anchor) []record.GPUSample {
	now := time.Now()
	if !g.last.IsZero() {
		g.energy += float64(g.power) * now.Sub(g.last).Seconds()
	}
	running := int64(g.load())
	g.last, g.power = now, gpuIdleMW+gpuEachMW*running
	busy, clock, reasons := int64(0), int64(345), int64(1) // idle
	if running > 0 {
		g.power += gpuBusyMW
		busy, clock, reasons = 99, 2430, 0
	}
	g.power = min(g.power, gpuLimitMW)
	rows := make([]record.GPUSample, g.count)
	for i := range rows {
		s := &rows[i]
		s.AtNs, s.AtUnixNs = anchor.Now()
		s.Status, s.GPUIndex, s.UUID, s.Name = "ok", whole(int64(i)), fmt.Sprintf("simulated-%d", i+1), "Simulated GPU"
		s.Source, s.MemoryAPI, s.DriverVersion = word("simulated"), word("v2"), word("simulated")
		used := gpuEngine + gpuRequest*running
		s.MemoryTotalBytes, s.MemoryReservedBytes, s.MemoryUsedBytes = whole(gpuMemory), whole(gpuReserved), whole(used)
		s.MemoryFreeBytes = whole(gpuMemory - gpuReserved - used)
		s.UtilizationPercent, s.MemoryBusyPercent = whole(busy), whole(busy*6/10)
		s.PowerMilliwatts, s.PowerLimitMilliwatts, s.EnergyMillijoules = whole(g.power), whole(gpuLimitMW), whole(int64(g.energy))
		s.SMClockMHz, s.GraphicsClockMHz, s.MemoryClockMHz = whole(clock), whole(clock), whole(12_001)
		s.TemperatureC, s.ThrottleReasons = whole(40+busy/4), whole(reasons)
		s.Missing = word(gpuMissing)
	}
	return rows
}

// gpuMissing says why the other columns are null, as column missing of a reading.
const gpuMissing = `{"compute_processes":"not simulated","ecc_corrected_errors":"not simulated","ecc_uncorrected_errors":"not simulated",` +
	`"pcie_gen":"not simulated","pcie_replays":"not simulated","pcie_rx_kb_s":"not simulated","pcie_tx_kb_s":"not simulated","pcie_width":"not simulated",` +
	`"performance_state":"not simulated","power_average_mw":"not simulated","power_instant_mw":"not simulated","process_memory_bytes":"not simulated"}`

// Close does nothing.
func (g *GPU) Close() error { return nil }

func whole(n int64) *int64 { return &n }

func word(s string) *string { return &s }
