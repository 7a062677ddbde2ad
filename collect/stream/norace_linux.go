//go:build !race

package stream

// raceAcquire does nothing outside the race detector.
func raceAcquire(uintptr) {}
