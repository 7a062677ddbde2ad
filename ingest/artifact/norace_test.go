//go:build !race

package artifact

const costlyBytes = 1 << 19
