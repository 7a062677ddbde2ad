//go:build !linux

package stream

import (
	"errors"
	"net"
	"syscall"
)

// stampReader reads a connection without kernel receive times.
type stampReader struct{ conn net.Conn }

func newStampReader(conn net.Conn) (*stampReader, error) { return &stampReader{conn: conn}, nil }

func (r *stampReader) read(p []byte) (n int, kernelUnixNs int64, stamped bool, err error) {
	n, err = r.conn.Read(p)
	return n, 0, false, err
}

func stampSocket(_, _ string, _ syscall.RawConn) error { return nil }

func holdStamps() error { return errors.New("kernel receive times need Linux") }
