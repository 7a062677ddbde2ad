// Package campaign runs a frozen plan: its cells in order, each as a closed
// loop of workers, with the engine, the GPU and the host sampled before,
// during and after.
//
// In: a checked plan, the endpoints of its arms, and a folder that does not
// exist yet. Out: the run directory that package record describes. The plan's
// lock is on disk before the first request, each finished request before its
// cell ends, and each state change in the journal before it takes effect.
//
// It never retries a request, never judges an answer beyond what a stop rule
// needs, and never computes a metric.
package campaign
