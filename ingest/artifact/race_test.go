//go:build race

package artifact

// The race detector slows what the memory tests do twenty times.
const costlyBytes = 1 << 16
