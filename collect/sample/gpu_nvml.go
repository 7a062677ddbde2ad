//go:build linux && cgo

package sample

import (
	"fmt"
	"os"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"assay/collect/record"
)

// wslLibrary is where WSL2 keeps the library, which is not on every loader path.
const wslLibrary = "/usr/lib/wsl/lib/libnvidia-ml.so.1"

func openNVML() GPU {
	if _, err := os.Stat(wslLibrary); err == nil {
		return startNVML(nvml.New(nvml.WithLibraryPath(wslLibrary)))
	}
	return startNVML(nvml.New())
}

// startNVML starts the library. After a failed Init nothing of it may be called,
// not even to name the error: the process would end.
func startNVML(lib nvml.Interface) GPU {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return &noGPU{reason: initReason(ret)}
	}
	g := &nvmlGPU{lib: lib, has: map[string]bool{}}
	for _, name := range nvmlSymbols() {
		g.has[name] = lib.Extensions().LookupSymbol(name) == nil
	}
	for _, name := range nvmlNeeded {
		if !g.has[name] {
			return &nvmlTooOld{noGPU: noGPU{reason: "driver too old, no " + name}, lib: lib}
		}
	}
	if g.has[symbolDriver] {
		if version, ret := lib.SystemGetDriverVersion(); ret == nvml.SUCCESS {
			g.driver = version
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
		return reasonMismatch
	case nvml.ERROR_NO_PERMISSION:
		return "no permission to read the NVIDIA driver"
	}
	return fmt.Sprintf("NVML error %d", int(ret))
}

// nvmlNeeded are the C functions needed for any reading.
var nvmlNeeded = []string{"nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID"}

// C functions that are asked for apart from the table of fields.
const (
	symbolDriver   = "nvmlSystemGetDriverVersion"
	symbolName     = "nvmlDeviceGetName"
	symbolMemory2  = "nvmlDeviceGetMemoryInfo_v2"
	symbolMemory1  = "nvmlDeviceGetMemoryInfo"
	symbolEvents   = "nvmlDeviceGetCurrentClocksEventReasons"
	symbolThrottle = "nvmlDeviceGetCurrentClocksThrottleReasons" // its name in older drivers
)

// nvmlSymbols are the C functions behind all calls made here. A driver that lacks
// one would end the process when it is called.
func nvmlSymbols() []string {
	names := append([]string{symbolDriver, symbolName, symbolMemory2, symbolMemory1, symbolEvents, symbolThrottle}, nvmlNeeded...)
	for _, f := range nvmlFields {
		names = append(names, f.symbol)
	}
	return names
}

// nvmlTooOld is a library that started but cannot be used.
type nvmlTooOld struct {
	noGPU
	lib nvml.Interface
}

func (g *nvmlTooOld) Close() error { return shutdown(g.lib) }

func shutdown(lib nvml.Interface) error {
	if ret := lib.Shutdown(); ret != nvml.SUCCESS {
		return fmt.Errorf("shut down NVML: error %d", int(ret))
	}
	return nil
}

// pcieEvery is the least time between two questions for PCIe throughput. Each
// blocks for the driver's window of 20 ms, twice for each GPU.
const pcieEvery = 10 * time.Second

// nvmlGPU reads through a started library.
type nvmlGPU struct {
	lib      nvml.Interface
	has      map[string]bool
	driver   string
	lastPCIe time.Time
}

func (g *nvmlGPU) Close() error { return shutdown(g.lib) }

func (g *nvmlGPU) Read(anchor record.Anchor) []record.GPUSample {
	count, ret := g.lib.DeviceGetCount()
	if ret != nvml.SUCCESS || count == 0 {
		rows := unavailable(anchor, "no GPU")
		if ret != nvml.SUCCESS {
			rows[0].Status = deviceStatus(ret)
		}
		return rows
	}
	withPCIe := time.Since(g.lastPCIe) >= pcieEvery
	if withPCIe {
		g.lastPCIe = time.Now()
	}
	rows := make([]record.GPUSample, 0, count)
	for i := range count {
		index := int64(i)
		s := record.GPUSample{GPUIndex: &index, Source: nonEmpty(sourceNVML), DriverVersion: nonEmpty(g.driver)}
		s.AtNs, s.AtUnixNs = anchor.Now()
		if device, ret := g.lib.DeviceGetHandleByIndex(i); ret == nvml.SUCCESS {
			r := nvmlReading{nvmlGPU: g, device: device, sample: &s, gaps: gaps{}}
			r.read(withPCIe)
			s.Missing = r.gaps.text()
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
		return statusLost
	case nvml.ERROR_RESET_REQUIRED:
		return statusReset
	}
	return fmt.Sprintf("unavailable: NVML error %d", int(ret))
}

// fieldReason says why a GPU does not give one field.
func fieldReason(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_NOT_SUPPORTED:
		return "not supported"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission"
	case nvml.ERROR_TIMEOUT:
		return "timeout"
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		return notInDriver
	case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED:
		return deviceStatus(ret)
	}
	return fmt.Sprintf("NVML error %d", int(ret))
}

const notInDriver = "this driver has no such function"

// nvmlReading is the reading of one GPU, under way.
type nvmlReading struct {
	*nvmlGPU
	device nvml.Device
	sample *record.GPUSample
	gaps   gaps
}

// read fills in the row. A field the device does not give stays null and has its
// reason; only an error that tells about the GPU as a whole changes the status,
// and after one nothing more is asked of that GPU.
func (r *nvmlReading) read(withPCIe bool) {
	r.sample.Status = statusOK
	uuid, ret := r.device.GetUUID()
	r.ok(ret, "gpu_uuid")
	r.sample.UUID = uuid
	if r.has[symbolName] {
		name, ret := r.device.GetName()
		r.ok(ret, "gpu_name")
		r.sample.Name = name
	} else {
		r.gaps.note(notInDriver, "gpu_name")
	}
	r.memory()
	for _, f := range nvmlFields {
		switch {
		case r.sample.Status != statusOK:
			r.gaps.note(r.sample.Status, f.columns...)
		case f.slow && !withPCIe:
			r.gaps.note("not asked in this reading", f.columns...)
		case !r.has[f.symbol]:
			r.gaps.note(notInDriver, f.columns...)
		default:
			values, ret := f.read(r.device)
			r.put(ret, f.columns, values)
		}
	}
	r.clockReasons()
}

// ok keeps the first error that concerns the whole GPU and tells whether the call
// gave a value; without one the columns get their reason.
func (r *nvmlReading) ok(ret nvml.Return, columns ...string) bool {
	if ret == nvml.SUCCESS {
		return true
	}
	if r.sample.Status == statusOK && Lost(deviceStatus(ret)) {
		r.sample.Status = deviceStatus(ret)
	}
	r.gaps.note(fieldReason(ret), columns...)
	return false
}

// put stores the values of a call.
func (r *nvmlReading) put(ret nvml.Return, columns []string, values []*int64) {
	if !r.ok(ret, columns...) {
		return
	}
	for i, c := range columns {
		if values[i] == nil { // the driver's own mark for a value it does not have
			r.gaps.note("not available", c)
		}
		*gpuColumn[c](r.sample) = values[i]
	}
}

// memory prefers the second version of the call: in the first one, used includes
// what the driver reserves. A driver and GPU either support the second or not, so
// a series never mixes them, and the row says which it was.
func (r *nvmlReading) memory() {
	columns := []string{"memory_total_bytes", "memory_used_bytes", "memory_free_bytes", "memory_reserved_bytes"}
	if r.has[symbolMemory2] {
		m, ret := r.device.GetMemoryInfo_v2()
		if ret != nvml.ERROR_NOT_SUPPORTED && ret != nvml.ERROR_ARGUMENT_VERSION_MISMATCH && ret != nvml.ERROR_FUNCTION_NOT_FOUND {
			r.sample.MemoryAPI = nonEmpty("v2")
			r.put(ret, columns, []*int64{signed(&m.Total), signed(&m.Used), signed(&m.Free), signed(&m.Reserved)})
			return
		}
	}
	r.gaps.note("only version 2 of the call has it", columns[3])
	if !r.has[symbolMemory1] {
		r.gaps.note(notInDriver, columns...)
		return
	}
	r.sample.MemoryAPI = nonEmpty("v1")
	m, ret := r.device.GetMemoryInfo()
	r.put(ret, columns[:3], []*int64{signed(&m.Total), signed(&m.Used), signed(&m.Free)})
}

// clockReasons asks under the name the driver has the call by.
func (r *nvmlReading) clockReasons() {
	column := []string{"throttle_reasons"}
	switch {
	case r.sample.Status != statusOK:
		r.gaps.note(r.sample.Status, column...)
	case r.has[symbolEvents]:
		v, ret := r.device.GetCurrentClocksEventReasons()
		r.put(ret, column, []*int64{signed(&v)})
	case r.has[symbolThrottle]:
		v, ret := r.device.GetCurrentClocksThrottleReasons()
		r.put(ret, column, []*int64{signed(&v)})
	default:
		r.gaps.note(notInDriver, column...)
	}
}
