package selfcheck

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"assay/collect/stream"
)

// RawHeader is the first line of the raw file. It has a row for every event
// that was sent, of the left-out part too: sent_ns is the server's clock before
// the write, arrived_ns the event's time, read_ns the clock when the read
// returned, all CLOCK_REALTIME in ns. An event that never came has these and
// what follows from them empty. stamp_source says what arrived_ns rests on,
// merged that another event came behind it in the same read, counted that it
// belongs to the figures. window_ns and cpu_ns are the length of the load's
// counted part and the CPU time of the client in it, the same in all its rows.
const RawHeader = "mode,streams,rate_per_stream,stream,seq,sent_ns,arrived_ns,read_ns,stamp_source,merged,counted,window_ns,cpu_ns\n"

// rawWriter writes loads as CSV. Nothing in it needs quotes.
type rawWriter struct {
	out     *bufio.Writer // nil: nobody wants it
	started bool
	row     []byte
}

func newRawWriter(w io.Writer) *rawWriter {
	if w == nil {
		return &rawWriter{}
	}
	return &rawWriter{out: bufio.NewWriterSize(w, 1<<20)}
}

// write writes the rows of one load, by stream and sequence number.
func (r *rawWriter) write(o observed) error {
	if r.out == nil {
		return nil
	}
	if !r.started {
		r.started = true
		r.row = append(r.row, RawHeader...)
	}
	before := o.load.Mode + "," + strconv.FormatInt(o.load.Streams, 10) + ","
	if o.load.Mode == Paced {
		before += strconv.FormatInt(o.load.Rate, 10)
	}
	after := "," + strconv.FormatInt(o.window.toNs-o.window.fromNs, 10) + "," + strconv.FormatInt(o.window.cpuNs, 10) + "\n"
	for i, samples := range o.streams {
		next := 0 // sample
		for seq := range o.sent[i] {
			r.row = append(r.row, before...)
			r.number(int64(i))
			r.number(seq)
			if next < len(samples) && samples[next].seq == seq {
				r.received(samples[next], o.window.counted(samples[next]))
				next++
			} else {
				r.row = append(r.row, ",,,,,,0"...)
			}
			r.row = append(r.row, after...)
			if err := r.put(); err != nil {
				return err
			}
		}
	}
	return nil
}

// received adds what is known of an event that came.
func (r *rawWriter) received(s sample, counted bool) {
	r.number(s.sentNs)
	r.number(s.arrivedNs)
	r.number(s.readNs)
	source := stream.SourceRead
	if s.kernel {
		source = stream.SourceKernel
	}
	r.row = append(r.row, ',')
	r.row = append(r.row, source...)
	r.number(count(s.merged))
	r.number(count(counted))
}

// number adds a field.
func (r *rawWriter) number(v int64) {
	r.row = strconv.AppendInt(append(r.row, ','), v, 10)
}

// put writes the row under way.
func (r *rawWriter) put() error {
	_, err := r.out.Write(r.row)
	r.row = r.row[:0]
	if err != nil {
		return fmt.Errorf("write raw file: %w", err)
	}
	return nil
}

func (r *rawWriter) flush() error {
	if r.out == nil {
		return nil
	}
	if err := r.out.Flush(); err != nil {
		return fmt.Errorf("write raw file: %w", err)
	}
	return nil
}
