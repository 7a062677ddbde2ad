package sample

import (
	"strings"

	"assay/collect/record"
)

// GPU reads the GPUs of the host the collector runs on. Not safe for concurrent
// use.
type GPU interface {
	// Read takes one reading: one row per GPU. Where there is no driver the first
	// call returns one row whose status says so, and later calls return none. A
	// driver that does not answer in time gives one row with a status that starts
	// with "hung:", and is left alone until the call has come back.
	Read(anchor record.Anchor) []record.GPUSample
	// Close ends the use of the driver.
	Close() error
}

// OpenGPU opens the driver of this host: through NVML, or where that cannot be
// loaded through the program nvidia-smi. It always returns a GPU: without a
// driver, or in a build without NVML on a host without that program, one that
// says so once. Nothing is started before the first Read, and no call takes
// longer than a bound of seconds.
func OpenGPU() GPU {
	return newBoundedGPU(func() GPU { return orSMI(openNVML(), findSMI()) }, gpuStartBound, gpuReadBound)
}

// orSMI is first, unless it has no driver and there is a program to ask instead.
func orSMI(first GPU, program string) GPU {
	none, ok := first.(*noGPU)
	if !ok || program == "" {
		return first
	}
	return newSMI(program, none.reason)
}

// Lost says whether a status tells of a GPU that fell off the bus or that cannot
// go on without a reset: whatever ran on it is dead.
func Lost(status string) bool { return status == statusLost || status == statusReset }

// Hung says whether a status tells of a driver that did not answer in time.
func Hung(status string) bool { return strings.HasPrefix(status, hungWord) }

const (
	statusLost  = "lost"
	statusReset = "reset required"
)

// Interfaces to a GPU, as in the column gpu_source.
const (
	sourceNVML = "nvml"
	sourceSMI  = "nvidia-smi"
)

// noGPU is a host without readable GPUs.
type noGPU struct {
	reason string
	said   bool
}

func (g *noGPU) Read(anchor record.Anchor) []record.GPUSample {
	if g.said {
		return nil
	}
	g.said = true
	return unavailable(anchor, g.reason)
}

func (g *noGPU) Close() error { return nil }

// unavailable is the one row of a reading without a GPU.
func unavailable(anchor record.Anchor, reason string) []record.GPUSample {
	s := record.GPUSample{Status: "unavailable: " + reason}
	s.AtNs, s.AtUnixNs = anchor.Now()
	return []record.GPUSample{s}
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

const reasonMismatch = "NVIDIA driver and library versions differ: reboot the host"
