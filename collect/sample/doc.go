// Package sample reads the machines around a measurement: the GPUs, the host and
// the collector's own process, and the engine's control group.
//
// In: a clock anchor, and the roots to read from (/proc and the mounts it names, or
// folders of fixture files). Out: rows of collect/record, without their position
// and phase, which the caller sets. A value that the system does not give is
// null, and the column missing says why; a source that is not there says so in one
// row with the status "unavailable: ...", and nothing after it.
//
// GPUs are read through NVML, or where that cannot be loaded through the program
// nvidia-smi. A driver that does not answer in time gives rows with the status
// "hung: ..." and is not asked again until it has; Lost tells a GPU that is gone.
// Control groups are those of cgroup v2 or v1, found from a process.
//
//	gpu := sample.OpenGPU()
//	defer gpu.Close()
//	skipped := sample.Every(ctx, interval, func(time.Time) { rows = append(rows, gpu.Read(anchor)...) })
//
// It never writes to what it reads, never puts 0 for a missing value, never
// catches up on readings it missed, and calls no NVML function after a failed
// start of that library: such a call ends the process.
package sample
