package stream

import "iter"

// Read is one socket read of a recorded answer and its clock readings, the
// parts of EventRow that belong to the read.
type Read struct {
	Data         []byte // not kept and not changed
	ReadNs       int64  // monotonic, after t0
	ReadUnixNs   int64
	KernelUnixNs *int64 // nil without a kernel stamp
}

// Replay returns what Do would have made of these reads, followed by end at
// endNs after t0. EndEOF is the server's orderly close, EndIdleTimeout a server
// that sends nothing more and keeps the connection open; any other kind stands
// for itself. Reads behind the end of the answer are not looked at. It opens no
// socket and reads no clock, and leaves out what only a connection knows: t0,
// the phases before the answer, and what was sent.
func Replay(r Request, reads iter.Seq[Read], end EndKind, endNs int64) Result {
	a := newAnswer(r.withDefaults())
	for read := range reads {
		if a.over {
			break
		}
		if len(read.Data) > 0 {
			a.replay(read)
		}
	}
	switch {
	case end == EndEOF:
		a.closed(endNs)
	case a.done && end == EndIdleTimeout:
		a.finish(EndProtocol, "grace_expired")
	default:
		a.finish(end, a.phase())
	}
	a.res.EndNs = &endNs
	a.complete()
	return a.res
}

func (a *answer) replay(read Read) {
	at := stamp{seq: a.res.Reads, bytes: int64(len(read.Data)), readNs: read.ReadNs, readUnixNs: read.ReadUnixNs}
	if read.KernelUnixNs != nil {
		at.kernelUnixNs, at.hasKernel = *read.KernelUnixNs, true
		a.res.StampedReads++
	}
	a.res.Reads++
	a.res.BytesReceived += at.bytes
	a.res.LastByteNs = &at.readNs
	a.feed(read.Data, at)
}
