// Package selfcheck measures the collector's own error bar on this host: how
// far an event's time is from the moment the server sent it, and what an event
// costs the client.
//
// A second process, started from the same program, serves event streams on the
// loopback interface and writes its clock into each chunk straight before the
// one write that sends it. This process reads them with stream.Do, as a
// campaign does. Both read CLOCK_REALTIME of one host, so the difference is the
// error. A paced load sends each stream's events on an absolute schedule; a
// flood sends as fast as it can.
//
// In: a list of loads. Out: two record.SelfCheck per load, one for the event
// times and one for the read stamps of the same events, and on request every
// event that they were computed from.
//
//	rows, err := selfcheck.Run(ctx, selfcheck.Options{Loads: selfcheck.Loads([]int64{64, 256})})
//
// The figures hold the server's way into the kernel as well, and both processes
// share the host's cores: they are an upper bound of the client's own error.
//
// The package talks to no other host and never to an engine.
package selfcheck
