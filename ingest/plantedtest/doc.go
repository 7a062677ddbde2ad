// Package plantedtest generates campaigns with planted faults, and beside each
// the truth: which verdict every request, cell and pair must get.
//
// In: a seed. Out: a run directory of raw bytes and clock readings, as a
// collector would leave it, and a Truth. The truth follows from what was
// planted, by the rules of measurement.md sections 3 to 11; nothing of ingest
// or analyze is imported, so that a fault there cannot hide in both. Only what
// the collector itself writes with (record) and the plan's digest (plan) are
// shared.
//
// It never reads a clock and draws everything from the seed: one seed is always
// one campaign, byte for byte.
//
//	c, err := plantedtest.New(7)
//	err = c.Write(dir)
//	truth := c.Truth()
package plantedtest
