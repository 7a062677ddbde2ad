package stream

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stampReader reads a socket with recvmsg, to get the kernel's receive time
// with the bytes. Everything recvmsg needs lies in the struct and the callback
// is made once, so that a read allocates nothing.
type stampReader struct {
	raw     syscall.RawConn
	attempt func(fd uintptr) bool

	hdr     unix.Msghdr
	iov     unix.Iovec
	control [64]byte // one timespec with its header takes 32
	n       int
	errno   syscall.Errno
	backlog bool // the last read filled its buffer: more may be waiting
}

func newStampReader(conn net.Conn) (*stampReader, error) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("connection of type %T has no descriptor", conn)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("reach descriptor: %w", err)
	}
	r := &stampReader{raw: raw}
	r.attempt = r.recvmsg
	return r, nil
}

// read reads once. kernelUnixNs counts only when stamped. At the end of the
// stream it returns io.EOF.
func (r *stampReader) read(p []byte) (n int, kernelUnixNs int64, stamped bool, err error) {
	if len(p) == 0 {
		return 0, 0, false, nil
	}
	r.iov.Base = &p[0]
	r.iov.SetLen(len(p))
	r.hdr = unix.Msghdr{Iov: &r.iov, Control: &r.control[0]}
	r.hdr.SetIovlen(1)
	err = r.raw.Read(r.attempt)
	r.iov.Base = nil
	switch {
	case err != nil:
		return 0, 0, false, err
	case r.errno != 0:
		return 0, 0, false, os.NewSyscallError("recvmsg", r.errno)
	case r.n == 0:
		return 0, 0, false, io.EOF
	}
	kernelUnixNs, stamped = receiveTime(r.control[:r.hdr.Controllen])
	return r.n, kernelUnixNs, stamped, nil
}

// recvmsg tries one read; false asks to be called again when the socket is
// readable.
func (r *stampReader) recvmsg(fd uintptr) bool {
	for {
		r.hdr.SetControllen(len(r.control))
		n, errno := r.call(fd)
		if errno == syscall.EINTR {
			continue
		}
		r.n, r.errno = n, errno
		r.backlog = errno == 0 && uint64(n) == uint64(r.iov.Len)
		if errno == 0 {
			raceAcquire(fd)
		}
		return errno != syscall.EAGAIN
	}
}

// call is one recvmsg. It cannot block, so the Go scheduler is not told of it: a
// call it is told of wakes its monitor thread whenever the process was idle,
// which between two events it is, and that took a fifth of the CPU time of 256
// streams at 100 events/s. A stream with more waiting does tell it, so that the
// monitor can take the processor from it.
func (r *stampReader) call(fd uintptr) (int, syscall.Errno) {
	if r.backlog {
		n, _, errno := syscall.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.hdr)), unix.MSG_DONTWAIT)
		return int(n), errno
	}
	n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.hdr)), unix.MSG_DONTWAIT)
	return int(n), errno
}

// receiveTime finds the SCM_TIMESTAMPNS message, CLOCK_REALTIME in ns.
func receiveTime(control []byte) (unixNs int64, ok bool) {
	for len(control) >= unix.CmsgLen(0) {
		hdr, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return 0, false
		}
		if hdr.Level == unix.SOL_SOCKET && hdr.Type == unix.SCM_TIMESTAMPNS &&
			len(data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			ts := (*unix.Timespec)(unsafe.Pointer(&data[0]))
			return ts.Nano(), true
		}
		control = rest
	}
	return 0, false
}

// stampSocket asks for receive times on a socket not yet connected. A refusal
// leaves reads without a stamp, which each row says.
func stampSocket(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
}

// holdStamps opens, once in the life of the process, a socket with receive
// times on. The kernel stamps packets only while some socket asks for it, and
// turns that on from a work queue: without this the first reads of a quiet
// host have no stamp.
var holdStamps = sync.OnceValue(func() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		_ = unix.Close(fd) // never used
		return os.NewSyscallError("setsockopt SO_TIMESTAMPNS", err)
	}
	return nil // fd stays open on purpose
})
