package sample

import "assay/collect/record"

// gpuColumn finds the field behind a column of numbers.
var gpuColumn = map[string]func(*record.GPUSample) **int64{
	"memory_total_bytes":     func(s *record.GPUSample) **int64 { return &s.MemoryTotalBytes },
	"memory_used_bytes":      func(s *record.GPUSample) **int64 { return &s.MemoryUsedBytes },
	"memory_free_bytes":      func(s *record.GPUSample) **int64 { return &s.MemoryFreeBytes },
	"memory_reserved_bytes":  func(s *record.GPUSample) **int64 { return &s.MemoryReservedBytes },
	"utilization_percent":    func(s *record.GPUSample) **int64 { return &s.UtilizationPercent },
	"memory_busy_percent":    func(s *record.GPUSample) **int64 { return &s.MemoryBusyPercent },
	"power_mw":               func(s *record.GPUSample) **int64 { return &s.PowerMilliwatts },
	"power_average_mw":       func(s *record.GPUSample) **int64 { return &s.PowerAverageMilliwatts },
	"power_instant_mw":       func(s *record.GPUSample) **int64 { return &s.PowerInstantMilliwatts },
	"power_limit_mw":         func(s *record.GPUSample) **int64 { return &s.PowerLimitMilliwatts },
	"energy_mj":              func(s *record.GPUSample) **int64 { return &s.EnergyMillijoules },
	"sm_clock_mhz":           func(s *record.GPUSample) **int64 { return &s.SMClockMHz },
	"graphics_clock_mhz":     func(s *record.GPUSample) **int64 { return &s.GraphicsClockMHz },
	"memory_clock_mhz":       func(s *record.GPUSample) **int64 { return &s.MemoryClockMHz },
	"performance_state":      func(s *record.GPUSample) **int64 { return &s.PerformanceState },
	"temperature_c":          func(s *record.GPUSample) **int64 { return &s.TemperatureC },
	"throttle_reasons":       func(s *record.GPUSample) **int64 { return &s.ThrottleReasons },
	"pcie_tx_kb_s":           func(s *record.GPUSample) **int64 { return &s.PCIeTxKB },
	"pcie_rx_kb_s":           func(s *record.GPUSample) **int64 { return &s.PCIeRxKB },
	"pcie_gen":               func(s *record.GPUSample) **int64 { return &s.PCIeGen },
	"pcie_width":             func(s *record.GPUSample) **int64 { return &s.PCIeWidth },
	"pcie_replays":           func(s *record.GPUSample) **int64 { return &s.PCIeReplays },
	"ecc_corrected_errors":   func(s *record.GPUSample) **int64 { return &s.ECCCorrected },
	"ecc_uncorrected_errors": func(s *record.GPUSample) **int64 { return &s.ECCUncorrected },
	"compute_processes":      func(s *record.GPUSample) **int64 { return &s.Processes },
	"process_memory_bytes":   func(s *record.GPUSample) **int64 { return &s.ProcessMemoryBytes },
}
