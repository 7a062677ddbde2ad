package stream

// Bounds of chunk framing, in bytes. Size lines of real servers have 3 to 10.
const (
	maxChunkLine = 4 << 10  // one size line with its extensions
	maxTrailer   = 64 << 10 // the whole trailer section
)

// ProtocolError says that a peer broke HTTP. Code is short and holds nothing
// of what the peer sent.
type ProtocolError struct{ Code string }

func (e *ProtocolError) Error() string { return "http protocol: " + e.Code }

type chunkState uint8

const (
	chunkSize    chunkState = iota // hexadecimal digits
	chunkExt                       // white space or extension behind them
	chunkSizeLF                    // LF of the size line
	chunkData                      // chunk data
	chunkDataCR                    // CR behind the data
	chunkDataLF                    // LF behind the data
	chunkTrailer                   // start of a trailer line
	chunkField                     // inside a trailer line
	chunkFieldLF                   // LF of a trailer line
	chunkLastLF                    // LF of the empty line that ends the body
	chunkDone
)

// Dechunker decodes the chunked transfer coding (RFC 9112 section 7.1) over any
// split of its bytes, handing out data as it comes. Only CRLF ends a line.
// Extensions and trailer fields are read over. The zero value is ready to use.
type Dechunker struct {
	state  chunkState
	left   int64 // size read so far, then data bytes left of the chunk
	digits int   // digits of the size
	line   int   // bytes of the size line or of the trailer section
	err    error
}

// Done reports whether the body has ended.
func (d *Dechunker) Done() bool { return d.state == chunkDone }

// Push decodes the next bytes and calls out with each piece of data, a part of
// p. It returns the number of bytes read, less than len(p) when the body ended
// inside p, and a *ProtocolError at the first byte that breaks the framing, and
// again on every later call.
func (d *Dechunker) Push(p []byte, out func([]byte)) (int, error) {
	i := 0
	for i < len(p) && d.err == nil && d.state != chunkDone {
		if d.state != chunkData {
			if code := d.frame(p[i]); code != "" {
				d.err = &ProtocolError{Code: code}
				break
			}
			i++
			continue
		}
		n := int(min(d.left, int64(len(p)-i)))
		out(p[i : i+n])
		i += n
		d.left -= int64(n)
		if d.left == 0 {
			d.state = chunkDataCR
		}
	}
	return i, d.err
}

// frame reads one byte outside chunk data and returns what is wrong with it.
func (d *Dechunker) frame(c byte) (code string) {
	switch d.state {
	case chunkSize, chunkExt, chunkSizeLF:
		return d.sizeLine(c)
	case chunkDataCR:
		d.state = chunkDataLF
		return unless(c == '\r', "chunk_end")
	case chunkDataLF:
		d.state, d.left, d.digits, d.line = chunkSize, 0, 0, 0
		return unless(c == '\n', "chunk_end")
	default:
		return d.trailer(c)
	}
}

// sizeLine reads one byte of a size line.
func (d *Dechunker) sizeLine(c byte) (code string) {
	if d.line++; d.line > maxChunkLine {
		return "chunk_line_too_long"
	}
	switch {
	case d.state == chunkSizeLF:
		d.state = chunkData
		if d.left == 0 {
			d.state, d.line = chunkTrailer, 0
		}
		return unless(c == '\n', "chunk_size")
	case c == '\r':
		d.state = chunkSizeLF
		return unless(d.digits > 0, "chunk_size")
	case d.state == chunkExt:
		return unless(c != '\n', "chunk_size")
	case c == ';' || c == ' ' || c == '\t':
		d.state = chunkExt
		return unless(d.digits > 0, "chunk_size")
	}
	v, ok := hexDigit(c)
	if !ok || d.left > (1<<63-1)>>4 {
		return "chunk_size"
	}
	d.left = d.left<<4 | v
	d.digits++
	return ""
}

// trailer reads one byte behind the last chunk.
func (d *Dechunker) trailer(c byte) (code string) {
	if d.line++; d.line > maxTrailer {
		return "trailer_too_long"
	}
	switch d.state {
	case chunkLastLF:
		d.state = chunkDone
		return unless(c == '\n', "trailer")
	case chunkFieldLF:
		d.state = chunkTrailer
		return unless(c == '\n', "trailer")
	case chunkTrailer:
		d.state = chunkField
		if c == '\r' {
			d.state = chunkLastLF
		}
	case chunkField:
		if c == '\r' {
			d.state = chunkFieldLF
		}
	}
	return unless(c != '\n', "trailer")
}

func unless(ok bool, code string) string {
	if ok {
		return ""
	}
	return code
}

func hexDigit(c byte) (int64, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int64(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int64(c-'A') + 10, true
	}
	return 0, false
}
