package sample

import "assay/collect/record"

// GPU reads the GPUs of the host the collector runs on. Not safe for concurrent
// use.
type GPU interface {
	// Read takes one reading: one row per GPU. Where there is no driver the first
	// call returns one row whose status says so, and later calls return none.
	Read(anchor record.Anchor) []record.GPUSample
	// Close ends the use of the driver.
	Close() error
}

// OpenGPU opens the driver of this host through NVML. It always returns a GPU:
// without a driver, or in a build without NVML, one that says so once.
func OpenGPU() GPU { return openNVML() }

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
	s := record.GPUSample{Status: "unavailable: " + g.reason}
	s.AtNs, s.AtUnixNs = anchor.Now()
	return []record.GPUSample{s}
}

func (g *noGPU) Close() error { return nil }
