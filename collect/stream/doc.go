// Package stream is the HTTP and server-sent-event client of the collector:
// bytes and clock readings in, events out.
//
// Do performs one exchange: one POST, one attempt, one HTTP/1.1 connection of
// its own. It returns a Result that holds raw facts only: the phases of the
// connection, the raw head, and one EventRow per event with its payload and
// the clock readings of the socket read that completed it. Every way an
// exchange can end is an EndKind, never an error.
//
// On Linux each socket read carries the kernel's own receive time
// (SO_TIMESTAMPNS), taken below TLS. EventTime turns the three readings of a
// row into the event's time.
//
//	res := stream.Do(ctx, stream.Request{URL: url, Body: body, IdleLimit: 15 * time.Minute})
//	for _, ev := range res.Events {
//		at, source, lag := stream.EventTime(ev.ReadNs, ev.ReadUnixNs, ev.Kernel())
//		...
//	}
//
// The package never retries, follows a redirect, replays a request, asks for
// or decodes a compression, uses a proxy, decodes JSON, logs, or judges an
// answer.
package stream
