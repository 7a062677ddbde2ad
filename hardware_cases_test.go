package main

import (
	"slices"
	"testing"
	"time"

	"assay/collect/record"
	"assay/ingest/ingesttest"
)

// gib is 2^30 bytes; gb, as the cases count, 10^9.
const (
	gib = int64(1) << 30
	gb  = int64(1_000_000_000)
)

func num(v int64) *int64 { return &v }

func str(s string) *string { return &s }

// phaseOf is before for the first of n readings, after for the last.
func phaseOf(i, n int) string {
	switch i {
	case 0:
		return "before"
	case n - 1:
		return "after"
	}
	return "during"
}

// readings gives an attempt n readings of a host part, one every half second from a
// quarter of a second after its start: the requests begin one second after it.
func readingAt(a *ingesttest.Attempt, i int) int64 {
	return a.StartNs + int64(time.Duration(i)*500*time.Millisecond+250*time.Millisecond)
}

func gpuReadings(a *ingesttest.Attempt, gpu int64, n int, fill func(i int, s *record.GPUSample)) {
	for i := range n {
		s := record.GPUSample{Seq: int64(i), Phase: phaseOf(i, n), AtNs: readingAt(a, i), Status: "ok", GPUIndex: num(gpu),
			UUID: []string{"GPU-a", "GPU-b"}[gpu], Name: "Example GPU", Source: str("nvml"), MemoryAPI: str("v2"), DriverVersion: str("580.95.05")}
		fill(i, &s)
		a.GPU = append(a.GPU, s)
	}
}

func groupReadings(a *ingesttest.Attempt, n int, fill func(i int, s *record.CgroupSample)) {
	for i := range n {
		s := record.CgroupSample{Seq: int64(i), Phase: phaseOf(i, n), AtNs: readingAt(a, i), Status: "ok", Version: num(2), Inode: num(77)}
		fill(i, &s)
		a.Cgroup = append(a.Cgroup, s)
	}
}

func hostReadings(a *ingesttest.Attempt, n int, fill func(i int, s *record.HostSample)) {
	for i := range n {
		s := record.HostSample{Seq: int64(i), Phase: phaseOf(i, n), AtNs: readingAt(a, i), Status: "ok", BootID: "a"}
		fill(i, &s)
		a.Host = append(a.Host, s)
	}
}

// sound is a cell of one request that takes two seconds from one second after its
// start, on a run that plans a reading every half second.
func sound(run *ingesttest.Run, cell string) *ingesttest.Attempt {
	run.Info.Settings = map[string]string{"sample_every_ns": "500000000", "page_every_ns": "500000000"}
	return fillTimed(run.Cell(cell), time.Second, 2*time.Second, plainUsage)
}

func oneCell(run *ingesttest.Run) *ingesttest.Attempt { return sound(run, "n001") }

// hardwareCaseIDs are the cases of part E, and of part D those about the sampler.
var hardwareCaseIDs = []string{"D16", "D19", "E01", "E03", "E04", "E06", "E07", "E08", "E09", "E11", "E12", "E13"}

func TestEveryHardwareCaseIsTested(t *testing.T) {
	everyCaseIsTested(t, hardwareCases(), hardwareCaseIDs, hardwareCaseIDs[2:], `(?m)^### (E\d+) `)
}

func TestHardwareCases(t *testing.T) { playMethodCases(t, hardwareCases()) }

func hardwareCases() []methodCase { return slices.Concat(gpuCases(), groupCases(), samplerCases()) }

const figure = "SELECT n, without, p50, max, reason FROM gpu_figures WHERE campaign = $c AND gpu = 'gpu-1' AND quantity = "

func gpuCases() []methodCase {
	one := []ingesttest.CellSpec{{ID: "n001", Arm: "baseline"}}
	return []methodCase{
		{ // not supported printed as 0
			id: "E01", cells: one,
			build: func(run *ingesttest.Run) {
				gpuReadings(oneCell(run), 0, 6, func(i int, s *record.GPUSample) {
					s.PowerMilliwatts, s.TemperatureC = num(200_000+int64(i)*1000), num(60)
					if i == 2 || i == 3 {
						s.UtilizationPercent = num(80 + int64(i))
						return
					}
					s.Missing = str(`{"memory_used_bytes":"not supported","utilization_percent":"not supported"}`)
				})
			},
			want: map[string]string{
				"SELECT count(*), count(utilization_percent), min(utilization_percent), count(power_mw) FROM gpu_samples WHERE campaign = $c": "6|2|82|6",
				figure + "'utilization_percent'": "2|2|82|83|not supported",
				figure + "'power_mw'":            "6|0|202000|205000|",
				figure + "'memory_used_bytes'":   "0|6|||not supported",
			},
			look: says("2 readings have a value, 2 have none: not supported", "205.0 W", "no energy counter: the driver does not give it"),
		},
		{ // driver and library differ
			id: "E03", cells: one,
			build: func(run *ingesttest.Run) {
				a := oneCell(run)
				a.GPU = []record.GPUSample{{Phase: "before", AtNs: a.StartNs, Status: "unavailable: NVIDIA driver and library versions differ: reboot the host"}}
			},
			want: map[string]string{
				"SELECT eligibility FROM cell_eligibility WHERE campaign = $c":                                                "eligible",
				"SELECT count(*), count(gpu_name), count(gpu), count(memory_used_bytes) FROM gpu_samples WHERE campaign = $c": "1|0|0|0",
				"SELECT gpu, n, energy_mj, reason FROM cell_energy WHERE campaign = $c":                                       "|0||unavailable: NVIDIA driver and library versions differ: reboot the host",
				"SELECT good, expected, gaps, errors FROM sampling_intervals WHERE campaign = $c AND source = 'gpu'":          "0|5|1|1",
				"SELECT n, without, reason FROM gpu_figures WHERE campaign = $c AND gpu = 'none' AND quantity = 'energy_mj'":  "0|1|unavailable: NVIDIA driver and library versions differ: reboot the host",
			},
		},
		{ // a driver that hangs, a GPU that is lost
			id: "E04", cells: one,
			build: func(run *ingesttest.Run) {
				a := oneCell(run)
				gpuReadings(a, 0, 7, func(i int, s *record.GPUSample) {
					s.EnergyMillijoules = num(int64(i) * 100_000)
					if i == 2 || i == 3 {
						*s = record.GPUSample{Seq: s.Seq, Phase: s.Phase, AtNs: s.AtNs, Status: "hung: the driver did not answer in time"}
					}
					if i >= 5 {
						*s = record.GPUSample{Seq: s.Seq, Phase: s.Phase, AtNs: s.AtNs, Status: "lost", GPUIndex: s.GPUIndex, UUID: s.UUID}
					}
				})
				a.Problems = []record.Problem{{AtNs: readingAt(a, 2), Code: "gpu_driver_hung", Source: "gpu", Detail: "the driver did not answer in time"},
					{AtNs: readingAt(a, 5), Code: "gpu_lost", Source: "gpu", Detail: "the driver says of a GPU: lost"}}
				run.Journal = append(run.Journal, stopEntry(a, "engine_fault", "the driver says of a GPU: lost"))
			},
			want: map[string]string{
				"SELECT rule, cell, detail FROM stops WHERE campaign = $c":                                                            "engine_fault|n001|the driver says of a GPU: lost",
				"SELECT samples, during, good, expected, gaps, errors FROM sampling_intervals WHERE campaign = $c AND source = 'gpu'": "7|5|2|5|1|4",
				"SELECT code, source FROM problems WHERE campaign = $c ORDER BY code":                                                 "gpu_driver_hung|gpu\ngpu_lost|gpu",
				// Before the cell and half a second before the end of its requests.
				"SELECT n, energy_mj, span_ns, round(covered_share, 3), reason FROM cell_energy WHERE campaign = $c AND gpu = 'gpu-1'": "3|400000|2000000000|0.625|",
			},
		},
		{ // used memory with and without what is reserved
			id: "E06", cells: pairOf(ingesttest.CellSpec{ID: "a"}),
			build: func(run *ingesttest.Run) {
				gpuReadings(sound(run, "baseline-a"), 0, 4, func(_ int, s *record.GPUSample) {
					s.MemoryAPI, s.MemoryTotalBytes, s.MemoryUsedBytes, s.MemoryFreeBytes = str("v1"), num(96<<30), num(912<<20), num(96<<30-912<<20)
					s.Missing = str(`{"memory_reserved_bytes":"only version 2 of the call has it"}`)
				})
				gpuReadings(sound(run, "candidate-a"), 0, 4, func(_ int, s *record.GPUSample) {
					s.MemoryTotalBytes, s.MemoryUsedBytes, s.MemoryReservedBytes, s.MemoryFreeBytes = num(96<<30), num(8<<20), num(904<<20), num(96<<30-912<<20)
				})
			},
			want: map[string]string{
				"SELECT DISTINCT arm, memory_api, memory_used_bytes, memory_reserved_bytes, memory_used_bytes + memory_free_bytes = memory_total_bytes FROM gpu_samples WHERE campaign = $c ORDER BY arm": "baseline|v1|956301312||true\ncandidate|v2|8388608|947912704|false",
				"SELECT arm, n, max, reason FROM gpu_figures WHERE campaign = $c AND quantity = 'memory_reserved_bytes' ORDER BY arm":                                                                     "baseline|0||only version 2 of the call has it\ncandidate|4|947912704|",
			},
		},
		{ // a GPU that shares the host's memory
			id: "E07", cells: one,
			build: func(run *ingesttest.Run) {
				gpuReadings(oneCell(run), 0, 4, func(_ int, s *record.GPUSample) {
					s.UtilizationPercent = num(50)
					s.Missing = str(`{"energy_mj":"not supported","memory_free_bytes":"not available","memory_total_bytes":"not available","memory_used_bytes":"not available"}`)
				})
			},
			want: map[string]string{
				"SELECT count(*), count(memory_total_bytes), count(memory_used_bytes), count(utilization_percent) FROM gpu_samples WHERE campaign = $c": "4|0|0|4",
				figure + "'memory_total_bytes'":                                    "0|4|||not available",
				"SELECT n, energy_mj, reason FROM cell_energy WHERE campaign = $c": "0||no energy counter: not supported",
			},
			of: "E08", look: says("A GPU without memory figures shares the host's memory"),
		},
		{ // what utilisation and power mean
			id: "E08", cells: one,
			build: func(run *ingesttest.Run) {
				a := oneCell(run)
				for gpu := range int64(2) {
					gpuReadings(a, gpu, 7, func(i int, s *record.GPUSample) {
						s.UtilizationPercent, s.PowerMilliwatts, s.PowerAverageMilliwatts, s.PowerInstantMilliwatts = num(100), num(80_000), num(80_000), num(95_000)
						s.EnergyMillijoules = num(1_000_000 + int64(i)*40_000)
					})
				}
			},
			want: map[string]string{
				figure + "'power_average_mw'": "7|0|80000|80000|", figure + "'power_instant_mw'": "7|0|95000|95000|",
				"SELECT gpu, n, energy_mj, span_ns, window_ns, covered_share FROM cell_energy WHERE campaign = $c ORDER BY gpu": "gpu-1|7|240000|3000000000|2000000000|1\ngpu-2|7|240000|3000000000|2000000000|1",
				// Energy comes from the counter, and no column divides it by tokens.
				"SELECT count(*) FROM duckdb_columns() WHERE regexp_matches(column_name, '(energy|joule|power|_mj|_mw).*tok|tok.*(energy|joule|power|_mj|_mw)')": "0",
			},
			look: says("Time with a kernel running", "that is no load", "an average over about a second", "480.0 J", "100.0 %", "-GPU load", "-J/token", "-J per token"),
		},
	}
}

func groupCases() []methodCase {
	three := []ingesttest.CellSpec{{ID: "a", Arm: "baseline"}, {ID: "b", Arm: "baseline"}, {ID: "c", Arm: "baseline"}}
	one := []ingesttest.CellSpec{{ID: "n001", Arm: "baseline"}}
	return []methodCase{
		{ // a peak that is not there, is old, and rises
			id: "E09", cells: three,
			build: func(run *ingesttest.Run) {
				groupReadings(sound(run, "a"), 3, func(_ int, s *record.CgroupSample) {
					s.MemoryCurrentBytes, s.Missing = num(10*gb), str(`{"memory_peak_bytes":"the kernel or the group lacks memory.peak"}`)
				})
				groupReadings(sound(run, "b"), 3, func(_ int, s *record.CgroupSample) {
					s.MemoryCurrentBytes, s.MemoryPeakBytes = num(10*gb), num(90*gb)
				})
				groupReadings(sound(run, "c"), 3, func(i int, s *record.CgroupSample) {
					s.MemoryCurrentBytes, s.MemoryPeakBytes = num(10*gb), num((90+int64(i))*gb)
				})
			},
			want: map[string]string{
				"SELECT cell, n, peak_before_bytes, peak_after_bytes, cell_peak_bytes, cell_peak_reason FROM cell_memory WHERE campaign = $c ORDER BY cell": "a|3||||the kernel or the group lacks memory.peak\n" +
					"b|3|90000000000|90000000000||the peak since the group was made did not rise\nc|3|90000000000|92000000000|92000000000|",
			},
		},
		{ // meminfo seen from inside a container
			id: "E11", cells: one,
			build: func(run *ingesttest.Run) {
				a := oneCell(run)
				hostReadings(a, 4, func(_ int, s *record.HostSample) {
					s.MemTotalBytes, s.Missing = num(256*gib), str(`{"mem_available_bytes":"meminfo lacks MemAvailable"}`)
				})
				groupReadings(a, 4, func(_ int, s *record.CgroupSample) { s.MemoryCurrentBytes, s.MemoryMaxBytes = num(60*gib), num(64*gib) })
			},
			want: map[string]string{
				"SELECT count(*), count(mem_available_bytes), max(mem_total_bytes), min(json_extract_string(missing, '$.mem_available_bytes')) FROM host_samples WHERE campaign = $c": "4|0|274877906944|meminfo lacks MemAvailable",
				"SELECT limit_bytes FROM cell_memory WHERE campaign = $c": "68719476736",
			},
			look: says("Host memory is what the kernel says where the collector runs", "256.0 GiB", "64.00 GiB", "meminfo lacks MemAvailable"),
		},
		{ // current memory is mostly page cache
			id: "E12", cells: one,
			build: func(run *ingesttest.Run) {
				groupReadings(oneCell(run), 4, func(_ int, s *record.CgroupSample) {
					s.MemoryCurrentBytes, s.MemoryMaxBytes, s.AnonBytes, s.FileBytes, s.InactiveFileBytes = num(51*gb), num(52*gb), num(1_800_000_000), num(49*gb), num(46*gb)
					s.OOMEvents, s.OOMKillEvents = num(3), num(2) // from before the campaign
				})
			},
			want: map[string]string{
				"SELECT current_max_bytes, anon_max_bytes, file_max_bytes, inactive_file_max_bytes FROM cell_memory WHERE campaign = $c":               "51000000000|1800000000|49000000000|46000000000",
				"SELECT counter, n, first_value, added, reason FROM oom_counters WHERE campaign = $c AND counter IN ('oom_events', 'oom_kill_events')": "oom_events|4|3|0|\noom_kill_events|4|2|0|",
				"SELECT count(*) FROM stops WHERE campaign = $c": "0",
			},
			of: "E11", look: says("Memory in use, page cache included, max", "use near the limit is no sign that memory ran out"),
		},
		{ // another group under the same name, a group that is killed, a counter that falls
			id: "E13", cells: three,
			build: func(run *ingesttest.Run) {
				anew := sound(run, "a")
				groupReadings(anew, 4, func(i int, s *record.CgroupSample) {
					s.MemoryCurrentBytes, s.OOMKillEvents = num(10*gb), num(0)
					if i >= 2 {
						s.Inode = num(78)
					}
				})
				run.Journal = append(run.Journal, stopEntry(anew, "identity_drift", "cgroup_inode changed; seen after the cell"))
				groupReadings(sound(run, "b"), 4, func(i int, s *record.CgroupSample) {
					s.MemoryCurrentBytes, s.OOMKillEvents = num(10*gb), num(int64(i/3))
				})
				hostReadings(sound(run, "c"), 4, func(i int, s *record.HostSample) {
					s.OOMKills = num(5)
					if i == 3 {
						s.BootID, s.OOMKills = "b", num(0)
					}
				})
			},
			want: map[string]string{
				"SELECT cell, source, n, first_value, last_value, added, reason FROM oom_counters WHERE campaign = $c AND counter IN ('oom_kill_events', 'oom_kills') AND NOT (cell <> 'c' AND source = 'host') ORDER BY cell, source": "a|cgroup|4|0|0||the control group was made anew during the attempt; its counters began at 0 again\n" +
					"b|cgroup|4|0|1|1|\nc|cgroup|0||||not read\nc|host|4|5|0||the host was started anew during the attempt",
				"SELECT cell, group_number FROM cgroup_samples WHERE campaign = $c AND cell = 'a' ORDER BY sample_seq": "a|1\na|1\na|2\na|2",
				"SELECT rule FROM stops WHERE campaign = $c":                                                           "identity_drift",
			},
			look: says("its counters began at 0 again", "cgroup_inode changed", "nobody can say that nothing was killed"),
		},
	}
}

func samplerCases() []methodCase {
	return []methodCase{
		{ // readings that take longer than their interval
			id: "D16", cells: []ingesttest.CellSpec{{ID: "n001", Arm: "baseline"}},
			build: func(run *ingesttest.Run) {
				run.Info.Settings = map[string]string{"sample_every_ns": "500000000", "page_every_ns": "500000000"}
				a := fillTimed(run.Cell("n001"), time.Second, 10*time.Second, plainUsage)
				for i := range 5 {
					a.Page("during", time.Duration(3*i)*time.Second, "process_start_time_seconds 5\n")
				}
			},
			want: map[string]string{
				// Requests last from 1 s to 11 s, readings were at 0, 3, 6, 9 and 12 s.
				"SELECT planned_ns, min_ns, p50_ns, max_ns, good, expected, gaps FROM sampling_intervals WHERE campaign = $c AND source = 'pages'": "500000000|3000000000|3000000000|3000000000|5|21|4",
				"SELECT min_ns, p50_ns, good, expected, gaps FROM sampling_intervals WHERE campaign = $c AND source = 'host'":                      "||0|21|1",
			},
		},
		{ // a sampled maximum is a lower bound
			id: "D19", cells: []ingesttest.CellSpec{{ID: "n004", Arm: "baseline", Requests: 4, Concurrency: 4}},
			build: func(run *ingesttest.Run) {
				a := fillTimed(run.Cell("n004"), time.Second, 10*time.Second, plainUsage)
				for i := range 3 {
					a.Page("during", time.Duration(i+2)*time.Second, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\nprocess_start_time_seconds 5\n")
				}
			},
			want: map[string]string{
				"SELECT max(value)::BIGINT, count(*) FROM engine_gauges WHERE campaign = $c AND canonical = 'requests_running'": "3|3",
				"SELECT max_overlap FROM cell_overlap WHERE campaign = $c":                                                      "4",
			},
			of: "E08", look: says("The true extremes lie outside them or on them"),
		},
	}
}
