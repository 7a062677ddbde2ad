// Package sample reads the machines around a measurement: the GPUs, the host and
// the collector's own process, and the engine's control group.
//
// In: a clock anchor, and the roots to read from (/proc, /sys/fs/cgroup, or
// folders of fixture files). Out: rows of collect/record, without their position
// and phase, which the caller sets. A value that the system does not give is
// null; a source that is not there says so in one row with the status
// "unavailable: ...", and nothing after it.
//
//	gpu := sample.OpenGPU()
//	defer gpu.Close()
//	skipped := sample.Every(ctx, interval, func(time.Time) { rows = append(rows, gpu.Read(anchor)...) })
//
// It never writes to what it reads, never puts 0 for a missing value, never
// catches up on readings it missed, and calls no NVML function after a failed
// start of that library: such a call ends the process.
package sample
