//go:build !linux || !cgo

package sample

// openNVML says that this build has no NVML: its Go binding needs Linux and cgo.
func openNVML() GPU { return &noGPU{reason: "built without NVML"} }
