package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// SpoolName is the spool's file name inside an attempt folder.
const SpoolName = "spool.assay"

// A frame is magic, kind, payload length, sequence number, CRC32C over all of
// them and the payload, then the payload. Length and checksum alone would
// read a run of zero bytes as valid frames, so the magic and the sequence
// number are part of what is checked. Arrow IPC was tried here: it is safe
// against cuts but returned wrong rows for a third of flipped bits.
const (
	frameHeader   = 4 + 1 + 4 + 8 + 4
	frameMax      = 1 << 30
	frameSchema   = 0 // payload: SchemaVersion
	readChunkSize = 1 << 20
)

var (
	frameMagic = []byte{0xA5, 'S', 'P', 0x1A}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// ErrSpoolBroken is returned by every write after one that could not be
// undone: the file may end in half a frame, which recovery ignores.
var ErrSpoolBroken = errors.New("spool is closed after a failed write")

// spoolFile is the part of os.File a spool needs; tests wrap it to fail.
type spoolFile interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Spool appends rows to a file so that a kill at any moment loses no row that
// was synced. It is owned by one goroutine.
type Spool struct {
	file   spoolFile
	size   int64
	seq    uint64
	broken bool
}

// CreateSpool makes a new spool. An existing file is an error: an attempt is
// never continued, it is recovered and run again.
func CreateSpool(path string) (*Spool, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create spool: %w", err)
	}
	s := &Spool{file: f}
	return s, s.frame(frameSchema, []byte(SchemaVersion))
}

// Append writes rows as one frame with one write call. A short or failed write
// is truncated away, so that the next frame starts at a frame border.
func Append[T any](s *Spool, t *Table[T], rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	return s.frame(t.frame, encodeRows(t, rows))
}

// Sync makes everything appended so far survive a power cut.
func (s *Spool) Sync() error { return s.file.Sync() }

// Close closes the file without syncing it.
func (s *Spool) Close() error { return s.file.Close() }

func (s *Spool) frame(kind byte, payload []byte) error {
	if s.broken {
		return ErrSpoolBroken
	}
	if len(payload) > frameMax {
		return fmt.Errorf("spool frame of %d bytes is over the limit of %d", len(payload), frameMax)
	}
	buf := make([]byte, frameHeader, frameHeader+len(payload))
	copy(buf, frameMagic)
	buf[4] = kind
	binary.LittleEndian.PutUint32(buf[5:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(buf[9:], s.seq)
	buf = append(buf, payload...)
	binary.LittleEndian.PutUint32(buf[17:], frameSum(buf))
	n, err := s.file.Write(buf)
	if err == nil && n == len(buf) {
		s.size += int64(n)
		s.seq++
		return nil
	}
	if err == nil {
		err = io.ErrShortWrite
	}
	if cut := s.file.Truncate(s.size); cut != nil {
		s.broken = true
		err = errors.Join(err, cut)
	}
	return fmt.Errorf("write spool: %w", err)
}

// frameSum is the CRC32C of a whole frame with its checksum field left out.
func frameSum(frame []byte) uint32 {
	sum := crc32.Update(0, castagnoli, frame[:17])
	return crc32.Update(sum, castagnoli, frame[frameHeader:])
}

// Frame is one intact frame of a spool.
type Frame struct {
	kind    byte
	payload []byte
}

// Damage says what a spool reader had to pass over.
type Damage struct {
	Offset int64  // where reading first failed
	Bytes  int64  // how many bytes belong to no intact frame
	Reason string // "cut" at the end of the file, "corrupt" before it
}

// ReadSpool calls use for each intact frame in order. Bytes that form no
// frame are passed over to the next magic and reported, never guessed at. An
// error from use ends the reading.
func ReadSpool(path string, use func(Frame) error) ([]Damage, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	defer f.Close()
	r := &frameReader{src: f}
	var damage []Damage
	for {
		frame, skipped, err := r.next()
		if skipped.Bytes > 0 {
			damage = append(damage, skipped)
		}
		if errors.Is(err, io.EOF) {
			return damage, nil
		}
		if err != nil {
			return damage, fmt.Errorf("read spool: %w", err)
		}
		if err := use(frame); err != nil {
			return damage, err
		}
	}
}

type frameReader struct {
	src    io.Reader
	buf    []byte
	offset int64  // file offset of buf[0]
	seq    uint64 // lowest number the next frame may have
	eof    bool
}

// next returns the next intact frame and the damage passed over before it.
func (r *frameReader) next() (Frame, Damage, error) {
	skipped := Damage{Offset: r.offset, Reason: "corrupt"}
	for {
		frame, size, err := r.tryFrame()
		if err != nil {
			return Frame{}, skipped, err
		}
		if size > 0 {
			r.drop(size)
			return frame, skipped, nil
		}
		if len(r.buf) == 0 {
			return Frame{}, skipped, io.EOF
		}
		step := 1 // past this magic, to the next one
		if i := bytes.Index(r.buf[1:], frameMagic[:1]); i >= 0 {
			step += i
		} else {
			step = len(r.buf)
		}
		skipped.Bytes += int64(step)
		r.drop(step)
		if r.eof && len(r.buf) == 0 {
			skipped.Reason = "cut"
		}
	}
}

// tryFrame reports size 0 when no intact frame starts at the current byte.
func (r *frameReader) tryFrame() (Frame, int, error) {
	if err := r.fill(frameHeader); err != nil {
		return Frame{}, 0, err
	}
	if len(r.buf) < frameHeader || !bytes.Equal(r.buf[:4], frameMagic) {
		return Frame{}, 0, nil
	}
	length := int(binary.LittleEndian.Uint32(r.buf[5:]))
	if length > frameMax {
		return Frame{}, 0, nil
	}
	if err := r.fill(frameHeader + length); err != nil {
		return Frame{}, 0, err
	}
	if len(r.buf) < frameHeader+length {
		return Frame{}, 0, nil
	}
	whole := r.buf[:frameHeader+length]
	seq := binary.LittleEndian.Uint64(whole[9:])
	if frameSum(whole) != binary.LittleEndian.Uint32(whole[17:]) || seq < r.seq {
		return Frame{}, 0, nil
	}
	r.seq = seq + 1
	return Frame{kind: whole[4], payload: bytes.Clone(whole[frameHeader:])}, len(whole), nil
}

// fill reads until n bytes are buffered or the file ends. It grows with what
// the file really holds, so a forged length cannot make it allocate.
func (r *frameReader) fill(n int) error {
	for len(r.buf) < n && !r.eof {
		chunk := make([]byte, readChunkSize)
		got, err := r.src.Read(chunk)
		r.buf = append(r.buf, chunk[:got]...)
		if errors.Is(err, io.EOF) {
			r.eof = true
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (r *frameReader) drop(n int) {
	r.buf = r.buf[n:]
	r.offset += int64(n)
}

// SpoolContent counts what an attempt's spool holds.
type SpoolContent struct {
	Requests   int64   // rows of the requests table
	Indexes    []int64 // their request indexes, in the order they ended
	Dispatched int64   // of these, requests that were sent
	Events     int64
	Problems   []Problem
}

// CountSpool reads a spool, also one that is still written to.
func CountSpool(path string) (SpoolContent, error) {
	var c SpoolContent
	_, err := ReadSpool(path, func(f Frame) error {
		switch f.kind {
		case Requests.frame:
			rows, err := decodeRows(Requests, f.payload)
			for _, r := range rows {
				c.Requests++
				c.Indexes = append(c.Indexes, r.Index)
				if r.T0Ns != nil {
					c.Dispatched++
				}
				c.Events += r.EventsSeen
			}
			return err
		case Problems.frame:
			rows, err := decodeRows(Problems, f.payload)
			c.Problems = append(c.Problems, rows...)
			return err
		}
		return nil
	})
	return c, err
}
