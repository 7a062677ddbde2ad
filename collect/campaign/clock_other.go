//go:build !linux

package campaign

import "time"

var processStart = time.Now()

// systemReading reads the monotonic clock; sleep cannot be told from a step here.
func systemReading() Reading {
	ns := int64(time.Since(processStart))
	return Reading{MonoNs: ns, BootNs: ns}
}
