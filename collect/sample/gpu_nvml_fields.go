//go:build linux && cgo

package sample

import (
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// nvmlField is one call: the C function behind it, the columns it fills, and how
// it is asked. A value that does not fit its column, or that is the driver's mark
// for "not available", is nil.
type nvmlField struct {
	symbol  string
	columns []string
	read    func(nvml.Device) ([]*int64, nvml.Return)
	slow    bool // blocks, so it is asked less often
}

// nvmlFields are the calls for each GPU and reading. Units are NVML's: mW, mJ,
// MHz, percent, °C, KB/s (nvml.h of driver 580).
var nvmlFields = []nvmlField{
	{symbol: "nvmlDeviceGetUtilizationRates", columns: []string{"utilization_percent", "memory_busy_percent"},
		read: func(d nvml.Device) ([]*int64, nvml.Return) {
			u, ret := d.GetUtilizationRates()
			return []*int64{widened(u.Gpu), widened(u.Memory)}, ret
		}},
	number("nvmlDeviceGetPowerUsage", "power_mw", nvml.Device.GetPowerUsage),
	{symbol: "nvmlDeviceGetFieldValues", columns: []string{"power_average_mw"}, read: fieldValue(nvml.FI_DEV_POWER_AVERAGE)},
	{symbol: "nvmlDeviceGetFieldValues", columns: []string{"power_instant_mw"}, read: fieldValue(nvml.FI_DEV_POWER_INSTANT)},
	number("nvmlDeviceGetEnforcedPowerLimit", "power_limit_mw", nvml.Device.GetEnforcedPowerLimit),
	{symbol: "nvmlDeviceGetTotalEnergyConsumption", columns: []string{"energy_mj"},
		read: func(d nvml.Device) ([]*int64, nvml.Return) {
			v, ret := d.GetTotalEnergyConsumption()
			return []*int64{signed(&v)}, ret
		}},
	clock("sm_clock_mhz", nvml.CLOCK_SM),
	clock("graphics_clock_mhz", nvml.CLOCK_GRAPHICS),
	clock("memory_clock_mhz", nvml.CLOCK_MEM),
	{symbol: "nvmlDeviceGetPerformanceState", columns: []string{"performance_state"},
		read: func(d nvml.Device) ([]*int64, nvml.Return) {
			state, ret := d.GetPerformanceState()
			if state == nvml.PSTATE_UNKNOWN {
				return []*int64{nil}, ret
			}
			return []*int64{whole(int(state))}, ret
		}},
	number("nvmlDeviceGetTemperature", "temperature_c", func(d nvml.Device) (uint32, nvml.Return) { return d.GetTemperature(nvml.TEMPERATURE_GPU) }),
	throughput("pcie_tx_kb_s", nvml.PCIE_UTIL_TX_BYTES),
	throughput("pcie_rx_kb_s", nvml.PCIE_UTIL_RX_BYTES),
	count("nvmlDeviceGetCurrPcieLinkGeneration", "pcie_gen", nvml.Device.GetCurrPcieLinkGeneration),
	count("nvmlDeviceGetCurrPcieLinkWidth", "pcie_width", nvml.Device.GetCurrPcieLinkWidth),
	count("nvmlDeviceGetPcieReplayCounter", "pcie_replays", nvml.Device.GetPcieReplayCounter),
	eccErrors("ecc_corrected_errors", nvml.MEMORY_ERROR_TYPE_CORRECTED),
	eccErrors("ecc_uncorrected_errors", nvml.MEMORY_ERROR_TYPE_UNCORRECTED),
	{symbol: "nvmlDeviceGetComputeRunningProcesses", columns: []string{"compute_processes", "process_memory_bytes"}, read: processes},
}

func number(symbol, column string, ask func(nvml.Device) (uint32, nvml.Return)) nvmlField {
	return nvmlField{symbol: symbol, columns: []string{column}, read: func(d nvml.Device) ([]*int64, nvml.Return) {
		v, ret := ask(d)
		return []*int64{widened(v)}, ret
	}}
}

func count(symbol, column string, ask func(nvml.Device) (int, nvml.Return)) nvmlField {
	return nvmlField{symbol: symbol, columns: []string{column}, read: func(d nvml.Device) ([]*int64, nvml.Return) {
		v, ret := ask(d)
		return []*int64{whole(v)}, ret
	}}
}

func clock(column string, kind nvml.ClockType) nvmlField {
	return number("nvmlDeviceGetClockInfo", column, func(d nvml.Device) (uint32, nvml.Return) { return d.GetClockInfo(kind) })
}

func throughput(column string, counter nvml.PcieUtilCounter) nvmlField {
	f := number("nvmlDeviceGetPcieThroughput", column, func(d nvml.Device) (uint32, nvml.Return) { return d.GetPcieThroughput(counter) })
	f.slow = true
	return f
}

func eccErrors(column string, kind nvml.MemoryErrorType) nvmlField {
	return nvmlField{symbol: "nvmlDeviceGetTotalEccErrors", columns: []string{column}, read: func(d nvml.Device) ([]*int64, nvml.Return) {
		v, ret := d.GetTotalEccErrors(kind, nvml.VOLATILE_ECC)
		return []*int64{signed(&v)}, ret
	}}
}

// fieldValue asks for one value by its number. The call and the value have a
// result each; a value has four bytes in the fields asked for here.
func fieldValue(id uint32) func(nvml.Device) ([]*int64, nvml.Return) {
	return func(d nvml.Device) ([]*int64, nvml.Return) {
		values := []nvml.FieldValue{{FieldId: id}}
		if ret := d.GetFieldValues(values); ret != nvml.SUCCESS {
			return nil, ret
		}
		if nvml.ValueType(values[0].ValueType) != nvml.VALUE_TYPE_UNSIGNED_INT {
			return []*int64{nil}, nvml.Return(values[0].NvmlReturn)
		}
		return []*int64{widened(binary.NativeEndian.Uint32(values[0].Value[:4]))}, nvml.Return(values[0].NvmlReturn)
	}
}

// processes counts the processes and adds up their memory, which is not known
// when it is not known of each: WSL2 and vGPU do not say it.
func processes(d nvml.Device) ([]*int64, nvml.Return) {
	list, ret := d.GetComputeRunningProcesses()
	total := new(int64)
	for _, p := range list {
		used := signed(&p.UsedGpuMemory)
		if used == nil {
			total = nil
			break
		}
		*total += *used
	}
	return []*int64{whole(len(list)), total}, ret
}

func widened(v uint32) *int64 {
	n := int64(v)
	return &n
}

func whole(v int) *int64 {
	n := int64(v)
	return &n
}
