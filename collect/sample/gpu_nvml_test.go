//go:build linux && cgo

package sample

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxb200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

// fakeServer is go-nvml's eight-GPU DGX A100 with what its mock leaves out.
func fakeServer() (*server.Server, *mock.Device) { return filled(dgxa100.New()) }

// filled gives a fake server of go-nvml every function that its mock leaves out and
// a fixed UUID for its first GPU.
func filled(fake *server.Server) (*server.Server, *mock.Device) {
	for i := range fake.Devices {
		d := fake.Devices[i].(*server.Device)
		d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{Total: 1000, Reserved: 100, Free: 600, Used: 300}, nvml.SUCCESS
		}
		d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) {
			return nvml.Utilization{Gpu: 97, Memory: 40}, nvml.SUCCESS
		}
		d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 250_000, nvml.SUCCESS }
		d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 5_000_000_000, nvml.SUCCESS }
		d.GetClockInfoFunc = func(c nvml.ClockType) (uint32, nvml.Return) {
			return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1410, nvml.CLOCK_MEM: 1215, nvml.CLOCK_GRAPHICS: 1400}[c], nvml.SUCCESS
		}
		d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 55, nvml.SUCCESS }
		d.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return 0x4, nvml.SUCCESS }
		d.GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
			for i := range values {
				values[i].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_INT)
				binary.NativeEndian.PutUint32(values[i].Value[:4], map[uint32]uint32{nvml.FI_DEV_POWER_AVERAGE: 240_000, nvml.FI_DEV_POWER_INSTANT: 310_000}[values[i].FieldId])
			}
			return nvml.SUCCESS
		}
		d.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return 400_000, nvml.SUCCESS }
		d.GetPerformanceStateFunc = func() (nvml.Pstates, nvml.Return) { return nvml.PSTATE_2, nvml.SUCCESS }
		d.GetPcieThroughputFunc = func(c nvml.PcieUtilCounter) (uint32, nvml.Return) { return 1000 + uint32(c), nvml.SUCCESS }
		d.GetCurrPcieLinkGenerationFunc = func() (int, nvml.Return) { return 4, nvml.SUCCESS }
		d.GetCurrPcieLinkWidthFunc = func() (int, nvml.Return) { return 16, nvml.SUCCESS }
		d.GetPcieReplayCounterFunc = func() (int, nvml.Return) { return 1, nvml.SUCCESS }
		d.GetTotalEccErrorsFunc = func(kind nvml.MemoryErrorType, _ nvml.EccCounterType) (uint64, nvml.Return) {
			return 5 + uint64(kind), nvml.SUCCESS
		}
		d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: 1, UsedGpuMemory: 100}, {Pid: 2, UsedGpuMemory: 200}}, nvml.SUCCESS
		}
	}
	first := fake.Devices[0].(*server.Device)
	first.GetUUIDFunc = func() (string, nvml.Return) { return "GPU-first", nvml.SUCCESS }
	return fake, &first.Device
}

func TestNVMLReadsEveryGPU(t *testing.T) {
	server, _ := fakeServer()
	g := startNVML(server)
	rows := g.Read(record.NewAnchor())
	if len(rows) != 8 {
		t.Fatalf("%d rows, want 8", len(rows))
	}
	for i, r := range rows {
		if r.GPUIndex == nil || *r.GPUIndex != int64(i) || r.Status != "ok" || r.UUID == "" {
			t.Errorf("row %d: index %v, status %q", i, r.GPUIndex, r.Status)
		}
	}
	first := rows[0]
	if first.AtUnixNs == 0 {
		t.Error("reading has no time")
	}
	first.AtNs, first.AtUnixNs = 0, 0
	want := record.GPUSample{
		Status: "ok", GPUIndex: of[int64](0), UUID: "GPU-first", Name: first.Name,
		MemoryTotalBytes: of[int64](1000), MemoryUsedBytes: of[int64](300), MemoryFreeBytes: of[int64](600),
		UtilizationPercent: of[int64](97), MemoryBusyPercent: of[int64](40),
		PowerMilliwatts: of[int64](250_000), EnergyMillijoules: of[int64](5_000_000_000),
		SMClockMHz: of[int64](1410), MemoryClockMHz: of[int64](1215), TemperatureC: of[int64](55), ThrottleReasons: of[int64](4),
		Source: of("nvml"), DriverVersion: first.DriverVersion, MemoryAPI: of("v2"), MemoryReservedBytes: of[int64](100),
		PowerAverageMilliwatts: of[int64](240_000), PowerInstantMilliwatts: of[int64](310_000), PowerLimitMilliwatts: of[int64](400_000),
		GraphicsClockMHz: of[int64](1400), PerformanceState: of[int64](2), PCIeTxKB: of[int64](1000), PCIeRxKB: of[int64](1001), PCIeGen: of[int64](4),
		PCIeWidth: of[int64](16), PCIeReplays: of[int64](1), ECCCorrected: of[int64](5), ECCUncorrected: of[int64](6),
		Processes: of[int64](2), ProcessMemoryBytes: of[int64](300),
	}
	if first.DriverVersion == nil || *first.DriverVersion == "" {
		t.Error("no driver version")
	}
	for _, r := range rows {
		everyNullHasAReason(t, record.GPU, r, r.Missing)
	}
	if diff := cmp.Diff(want, first); diff != "" || first.Name == "" {
		t.Errorf("name %q, first GPU (-want +got):\n%s", first.Name, diff)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func TestNVMLNotSupportedIsNullAndTheRestSurvives(t *testing.T) {
	server, d := fakeServer()
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.ERROR_NOT_SUPPORTED }
	d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 0, nvml.ERROR_NO_PERMISSION }
	r := startNVML(server).Read(record.NewAnchor())[0]
	if r.UtilizationPercent != nil || r.MemoryBusyPercent != nil || r.EnergyMillijoules != nil {
		t.Error("a field the GPU does not support has a value, want null")
	}
	why := reasons(t, r.Missing)
	if why["utilization_percent"] != "not supported" || why["memory_busy_percent"] != "not supported" || why["energy_mj"] != "no permission" || len(why) != 3 {
		t.Errorf("reasons %v", why)
	}
	if r.Status != "ok" || r.PowerMilliwatts == nil || r.MemoryUsedBytes == nil {
		t.Errorf("status %q: the other fields of the row are lost", r.Status)
	}
}

func TestNVMLFallsBackToTheFirstMemoryCall(t *testing.T) {
	server, d := fakeServer()
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED }
	d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 9, Used: 4, Free: 5}, nvml.SUCCESS }
	r := startNVML(server).Read(record.NewAnchor())[0]
	if r.MemoryUsedBytes == nil || *r.MemoryUsedBytes != 4 || *r.MemoryAPI != "v1" || r.MemoryReservedBytes != nil {
		t.Errorf("used = %v, want 4 by version 1, without the part that is reserved", r.MemoryUsedBytes)
	}
	if why := reasons(t, r.Missing)["memory_reserved_bytes"]; why != "only version 2 of the call has it" {
		t.Errorf("reason %q", why)
	}
}

func TestNVMLNamesALostGPUAndReadsTheOthers(t *testing.T) {
	server, d := fakeServer()
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
	byIndex := server.DeviceGetHandleByIndexFunc
	server.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 1 {
			return nil, nvml.ERROR_RESET_REQUIRED
		}
		return byIndex(i)
	}
	rows := startNVML(server).Read(record.NewAnchor())
	got := []string{rows[0].Status, rows[1].Status, rows[2].Status}
	if diff := cmp.Diff([]string{"lost", "reset required", "ok"}, got); diff != "" {
		t.Error("statuses (-want +got):\n", diff)
	}
	if rows[0].PowerMilliwatts != nil || rows[0].TemperatureC != nil {
		t.Error("power or temperature of a lost GPU has a value")
	}
	if why := reasons(t, rows[0].Missing); why["power_mw"] != "lost" || why["throttle_reasons"] != "lost" || why["utilization_percent"] != "" {
		t.Errorf("reasons %v", why)
	}
}

func TestNVMLNeverCallsAfterAFailedInit(t *testing.T) {
	for ret, status := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND:       "unavailable: no NVIDIA driver library",
		nvml.ERROR_DRIVER_NOT_LOADED:       "unavailable: NVIDIA driver not loaded",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: "unavailable: NVIDIA driver and library versions differ: reboot the host",
		nvml.ERROR_NO_PERMISSION:           "unavailable: no permission to read the NVIDIA driver",
		nvml.ERROR_UNKNOWN:                 "unavailable: NVML error 999",
	} {
		// Any function but Init is unset in this mock and panics when it is called.
		g := startNVML(&mock.Interface{InitFunc: func() nvml.Return { return ret }})
		rows := g.Read(record.NewAnchor())
		if len(rows) != 1 || rows[0].Status != status {
			t.Errorf("Init = %d: first reading %+v, want status %q", ret, rows, status)
		}
		if again := g.Read(record.NewAnchor()); len(again) != 0 {
			t.Errorf("Init = %d: second reading has %d rows, want none", ret, len(again))
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNVMLCallsNothingTheDriverLacks(t *testing.T) {
	server, d := fakeServer()
	// Unset functions of the mock panic, as a missing symbol would end the process.
	d.GetMemoryInfo_v2Func, d.GetTotalEnergyConsumptionFunc, d.GetCurrentClocksEventReasonsFunc = nil, nil, nil
	d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 9, Used: 4, Free: 5}, nvml.SUCCESS }
	d.GetCurrentClocksThrottleReasonsFunc = func() (uint64, nvml.Return) { return 8, nvml.SUCCESS }
	server.Devices[1] = server.Devices[0]
	server.DeviceGetCountFunc = func() (int, nvml.Return) { return 1, nvml.SUCCESS }
	server.LookupSymbolFunc = func(name string) error {
		switch name {
		case "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetCurrentClocksEventReasons":
			return errors.New("undefined symbol")
		}
		return nil
	}
	r := startNVML(server).Read(record.NewAnchor())[0]
	if r.EnergyMillijoules != nil || r.MemoryUsedBytes == nil || *r.MemoryUsedBytes != 4 || r.ThrottleReasons == nil || *r.ThrottleReasons != 8 {
		t.Errorf("old driver: missing %v; energy %v, used %v, throttle reasons %v", reasons(t, r.Missing), r.EnergyMillijoules, r.MemoryUsedBytes, r.ThrottleReasons)
	}
}

func TestNVMLWithoutTheNeededFunctionsIsUnavailable(t *testing.T) {
	server, _ := fakeServer()
	server.LookupSymbolFunc = func(string) error { return errors.New("undefined symbol") }
	g := startNVML(server)
	rows := g.Read(record.NewAnchor())
	if len(rows) != 1 || rows[0].Status != "unavailable: driver too old, no nvmlDeviceGetCount" {
		t.Errorf("first reading = %+v", rows)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func TestNVMLWithoutAGPUSaysSo(t *testing.T) {
	server, _ := fakeServer()
	server.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.SUCCESS }
	rows := startNVML(server).Read(record.NewAnchor())
	if len(rows) != 1 || rows[0].Status != "unavailable: no GPU" {
		t.Errorf("reading = %+v, want one row that says there is no GPU", rows)
	}
}

func TestNVMLAsksForThroughputNowAndThen(t *testing.T) {
	server, d := fakeServer()
	asked := 0
	d.GetPcieThroughputFunc = func(nvml.PcieUtilCounter) (uint32, nvml.Return) { asked++; return 9, nvml.SUCCESS }
	g := startNVML(server)
	first, second := g.Read(record.NewAnchor())[0], g.Read(record.NewAnchor())[0]
	if asked != 2 || first.PCIeTxKB == nil || second.PCIeTxKB != nil {
		t.Errorf("asked %d times, first reading %v, second %v", asked, first.PCIeTxKB, second.PCIeTxKB)
	}
	if why := reasons(t, second.Missing); why["pcie_tx_kb_s"] != "not asked in this reading" || len(why) != 2 {
		t.Errorf("reasons %v", why)
	}
}

func TestNVMLMarksForNoValueAreNull(t *testing.T) {
	server, d := fakeServer()
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 1, UsedGpuMemory: 1<<64 - 1}, {Pid: 2, UsedGpuMemory: 5}}, nvml.SUCCESS
	}
	d.GetPerformanceStateFunc = func() (nvml.Pstates, nvml.Return) { return nvml.PSTATE_UNKNOWN, nvml.SUCCESS }
	d.GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
		values[0].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
		return nvml.SUCCESS
	}
	r := startNVML(server).Read(record.NewAnchor())[0]
	if r.Processes == nil || *r.Processes != 2 || r.ProcessMemoryBytes != nil || r.PerformanceState != nil || r.PowerAverageMilliwatts != nil {
		t.Errorf("processes %v with memory %v, P-state %v, power %v", r.Processes, r.ProcessMemoryBytes, r.PerformanceState, r.PowerAverageMilliwatts)
	}
	want := map[string]string{
		"process_memory_bytes": "not available", "performance_state": "not available", "power_average_mw": "not supported", "power_instant_mw": "not supported",
	}
	if diff := cmp.Diff(want, reasons(t, r.Missing)); diff != "" {
		t.Error("reasons (-want +got):\n", diff)
	}
}

// TestEveryCallIsGuardedBySymbols takes away one function of the driver after the
// other. The mock would answer all the same, so a value shows that it was called:
// with a real driver that would have ended the process.
func TestEveryCallIsGuardedBySymbols(t *testing.T) {
	for _, f := range nvmlFields {
		server, _ := fakeServer()
		server.DeviceGetCountFunc = func() (int, nvml.Return) { return 1, nvml.SUCCESS }
		server.LookupSymbolFunc = func(name string) error {
			if name == f.symbol {
				return errors.New("undefined symbol")
			}
			return nil
		}
		r := startNVML(server).Read(record.NewAnchor())[0]
		for _, c := range f.columns {
			if *gpuColumn[c](&r) != nil || reasons(t, r.Missing)[c] != notInDriver {
				t.Errorf("%s: value %v, reason %q", c, *gpuColumn[c](&r), reasons(t, r.Missing)[c])
			}
		}
	}
}

// TestRealGPU reads the GPUs of this host, where there are any.
func TestRealGPU(t *testing.T) {
	g := openNVML()
	defer g.Close()
	rows := g.Read(record.NewAnchor())
	if len(rows) == 0 || rows[0].Status != "ok" {
		t.Skipf("no GPU here: %+v", rows)
	}
	for _, r := range rows {
		if r.UUID == "" || r.Name == "" || r.DriverVersion == nil || r.MemoryTotalBytes == nil && reasons(t, r.Missing)["memory_total_bytes"] == "" {
			t.Errorf("GPU %d: %+v", *r.GPUIndex, r)
		}
		everyNullHasAReason(t, record.GPU, r, r.Missing)
	}
}

// TestNVMLReadsEachFakeServer reads the servers go-nvml has, each GPU of which has
// an id, a name and a driver of its own.
func TestNVMLReadsEachFakeServer(t *testing.T) {
	names := map[string]bool{}
	for _, fake := range []*server.Server{dgxa100.New(), dgxh100.New(), dgxh200.New(), dgxb200.New()} {
		filled(fake)
		g := startNVML(fake)
		rows := g.Read(record.NewAnchor())
		ids := map[string]bool{}
		for _, r := range rows {
			everyNullHasAReason(t, record.GPU, r, r.Missing)
			ids[r.UUID] = true
		}
		if len(rows) != 8 || len(ids) != 8 || rows[0].Status != "ok" || rows[0].DriverVersion == nil || *rows[0].DriverVersion != fake.DriverVersion {
			t.Errorf("%d rows with %d ids: %+v", len(rows), len(ids), rows[0])
		}
		names[rows[0].Name] = true
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(names) != 4 {
		t.Errorf("names %v", names)
	}
}
