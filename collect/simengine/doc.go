// Package simengine is a simulated serving engine: an OpenAI-compatible HTTP
// server with vLLM-style /metrics that answers the benchmark's own prompts.
// The demo, the tests and the self-check measure it in place of a real engine.
//
// In: a Config (a profile, the served model id, a seed, a time scale, faults)
// and HTTP requests on a listener. Out: streams, Prometheus pages, and two logs
// kept for tests: the arrivals (stamped at the first byte of a request) and the
// sends (both clocks read straight before the one write of each event).
//
// The text, the token counts and the pacing of a request depend on the seed and
// the request's marker only, never on order or wall time. What one request does
// to another (queueing, the slow-down of a larger batch) depends on when they
// arrive, as it does in a real engine.
//
// How a request runs: it waits, first come first served, until nothing else is
// being prefilled, fewer than MaxRunning requests run and its prompt plus its
// max_tokens fit the KV pool; then it is scheduled, prefilled, and decoded step
// by step. A request that can never fit waits until the client leaves, as in
// vLLM. Every wait ends at an absolute deadline of CLOCK_MONOTONIC; nothing
// spins. Metrics report wall seconds, also under TimeScale.
//
// It never runs a model, never keeps prompts, never listens on anything but the
// listener it is given, and claims nothing about a real engine's speed: the
// profiles are shaped like two recipes, not measured from them.
//
//	engine, base, stop, err := simengine.Start(ctx, simengine.Config{
//		Profile: profile, Model: "m", TimeScale: 50,
//	})
package simengine
