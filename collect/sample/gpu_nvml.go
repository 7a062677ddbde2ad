//go:build linux && cgo

package sample

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"assay/collect/record"
)

func openNVML() GPU { return startNVML(nvml.New()) }

// startNVML starts the library. After a failed Init nothing of it may be called,
// not even to name the error: the process would end.
func startNVML(lib nvml.Interface) GPU {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return &noGPU{reason: initReason(ret)}
	}
	g := &nvmlGPU{lib: lib, has: map[string]bool{}}
	for _, name := range nvmlSymbols {
		g.has[name] = lib.Extensions().LookupSymbol(name) == nil
	}
	for _, name := range nvmlSymbols[:nvmlNeeded] {
		if !g.has[name] {
			return &nvmlLost{noGPU: noGPU{reason: "driver too old, no " + name}, lib: lib}
		}
	}
	return g
}

// initReason names the usual failures of Init in our own words.
func initReason(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return "no NVIDIA driver library"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return "NVIDIA driver not loaded"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return "NVIDIA driver and library versions differ: reboot the host"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission to read the NVIDIA driver"
	}
	return fmt.Sprintf("NVML error %d", int(ret))
}

// nvmlSymbols are the C functions behind the calls below. A driver that lacks one
// would end the process when it is called. The first nvmlNeeded of them are
// needed for any reading.
var nvmlSymbols = []string{
	"nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID",
	"nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo",
	"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption",
	"nvmlDeviceGetClockInfo", "nvmlDeviceGetTemperature",
	"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
}

const nvmlNeeded = 3

// nvmlLost is a library that started but cannot be used.
type nvmlLost struct {
	noGPU
	lib nvml.Interface
}

func (g *nvmlLost) Close() error { return shutdown(g.lib) }

func shutdown(lib nvml.Interface) error {
	if ret := lib.Shutdown(); ret != nvml.SUCCESS {
		return fmt.Errorf("shut down NVML: error %d", int(ret))
	}
	return nil
}

// nvmlGPU reads through a started library.
type nvmlGPU struct {
	lib nvml.Interface
	has map[string]bool
}

func (g *nvmlGPU) Close() error { return shutdown(g.lib) }

func (g *nvmlGPU) Read(anchor record.Anchor) []record.GPUSample {
	count, ret := g.lib.DeviceGetCount()
	if ret != nvml.SUCCESS || count == 0 {
		s := record.GPUSample{Status: "unavailable: no GPU"}
		if ret != nvml.SUCCESS {
			s.Status = deviceStatus(ret)
		}
		s.AtNs, s.AtUnixNs = anchor.Now()
		return []record.GPUSample{s}
	}
	rows := make([]record.GPUSample, 0, count)
	for i := range count {
		index := int64(i)
		s := record.GPUSample{GPUIndex: &index}
		s.AtNs, s.AtUnixNs = anchor.Now()
		if device, ret := g.lib.DeviceGetHandleByIndex(i); ret == nvml.SUCCESS {
			g.readDevice(device, &s)
		} else {
			s.Status = deviceStatus(ret)
		}
		rows = append(rows, s)
	}
	return rows
}

// deviceStatus says why a GPU gives no reading.
func deviceStatus(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_GPU_IS_LOST:
		return "lost"
	case nvml.ERROR_RESET_REQUIRED:
		return "reset required"
	}
	return fmt.Sprintf("unavailable: NVML error %d", int(ret))
}

// readDevice fills in one row. A field the device does not support stays null;
// only an error that tells about the GPU as a whole changes the status.
func (g *nvmlGPU) readDevice(d nvml.Device, s *record.GPUSample) {
	s.Status = statusOK
	uuid, ret := d.GetUUID()
	note(s, ret)
	s.UUID = uuid
	if g.has["nvmlDeviceGetName"] {
		name, ret := d.GetName()
		note(s, ret)
		s.Name = name
	}
	g.readMemory(d, s)
	g.readLoad(d, s)
	g.readClocks(d, s)
}

// note keeps the first error that concerns the whole GPU and tells whether the
// call gave a value.
func note(s *record.GPUSample, ret nvml.Return) bool {
	if s.Status == statusOK && (ret == nvml.ERROR_GPU_IS_LOST || ret == nvml.ERROR_RESET_REQUIRED) {
		s.Status = deviceStatus(ret)
	}
	return ret == nvml.SUCCESS
}

// readMemory prefers the second version of the call: in the first one, used
// includes what the driver reserves. A driver and GPU either support the second
// or not, so a series never mixes them.
func (g *nvmlGPU) readMemory(d nvml.Device, s *record.GPUSample) {
	if g.has["nvmlDeviceGetMemoryInfo_v2"] {
		m, ret := d.GetMemoryInfo_v2()
		if note(s, ret) {
			s.MemoryTotalBytes, s.MemoryUsedBytes, s.MemoryFreeBytes = signed(&m.Total), signed(&m.Used), signed(&m.Free)
		}
		if ret != nvml.ERROR_NOT_SUPPORTED && ret != nvml.ERROR_ARGUMENT_VERSION_MISMATCH {
			return
		}
	}
	if g.has["nvmlDeviceGetMemoryInfo"] {
		m, ret := d.GetMemoryInfo()
		if note(s, ret) {
			s.MemoryTotalBytes, s.MemoryUsedBytes, s.MemoryFreeBytes = signed(&m.Total), signed(&m.Used), signed(&m.Free)
		}
	}
}

func (g *nvmlGPU) readLoad(d nvml.Device, s *record.GPUSample) {
	if g.has["nvmlDeviceGetUtilizationRates"] {
		u, ret := d.GetUtilizationRates()
		if note(s, ret) {
			s.UtilizationPercent, s.MemoryBusyPercent = widened(u.Gpu), widened(u.Memory)
		}
	}
	if g.has["nvmlDeviceGetPowerUsage"] {
		if v, ret := d.GetPowerUsage(); note(s, ret) {
			s.PowerMilliwatts = widened(v)
		}
	}
	if g.has["nvmlDeviceGetTotalEnergyConsumption"] {
		if v, ret := d.GetTotalEnergyConsumption(); note(s, ret) {
			s.EnergyMillijoules = signed(&v)
		}
	}
	if g.has["nvmlDeviceGetTemperature"] {
		if v, ret := d.GetTemperature(nvml.TEMPERATURE_GPU); note(s, ret) {
			s.TemperatureC = widened(v)
		}
	}
}

func (g *nvmlGPU) readClocks(d nvml.Device, s *record.GPUSample) {
	if g.has["nvmlDeviceGetClockInfo"] {
		if v, ret := d.GetClockInfo(nvml.CLOCK_SM); note(s, ret) {
			s.SMClockMHz = widened(v)
		}
		if v, ret := d.GetClockInfo(nvml.CLOCK_MEM); note(s, ret) {
			s.MemoryClockMHz = widened(v)
		}
	}
	switch {
	case g.has["nvmlDeviceGetCurrentClocksEventReasons"]:
		if v, ret := d.GetCurrentClocksEventReasons(); note(s, ret) {
			s.ThrottleReasons = signed(&v)
		}
	case g.has["nvmlDeviceGetCurrentClocksThrottleReasons"]:
		if v, ret := d.GetCurrentClocksThrottleReasons(); note(s, ret) {
			s.ThrottleReasons = signed(&v)
		}
	}
}

func widened(v uint32) *int64 {
	n := int64(v)
	return &n
}
