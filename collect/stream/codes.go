package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// errnoCodes names the errors a connection ends with.
var errnoCodes = []struct {
	errno syscall.Errno
	code  string
}{
	{syscall.ECONNREFUSED, "refused"},
	{syscall.ECONNRESET, "reset"},
	{syscall.ECONNABORTED, "aborted"},
	{syscall.EPIPE, "broken_pipe"},
	{syscall.ETIMEDOUT, "timed_out"},
	{syscall.EHOSTUNREACH, "host_unreachable"},
	{syscall.ENETUNREACH, "net_unreachable"},
	{syscall.EADDRNOTAVAIL, "no_local_address"},
	{syscall.EMFILE, "too_many_files"},
	{syscall.ENFILE, "too_many_files"},
}

// errorCode is a short code for a network error. The error's own text can hold
// addresses and host names and is not kept.
func errorCode(err error) string {
	for _, e := range errnoCodes {
		if errors.Is(err, e.errno) {
			return e.code
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return fmt.Sprintf("errno_%d", int(errno))
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dnsCode(dns)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "deadline"
	case errors.Is(err, net.ErrClosed):
		return "closed"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "eof"
	}
	return "other"
}

func dnsCode(err *net.DNSError) string {
	if err.IsNotFound {
		return "name_not_found"
	}
	return "name_lookup"
}

// tlsCode is a short code for a failed handshake.
func tlsCode(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "not_tls"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return "alert"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "unknown_authority"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "host_name"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "certificate"
	}
	return errorCode(err)
}

// endOfContext tells the outer cap from an interrupt by the context's cause. It
// reports false while ctx goes on. A deadline counts by the clock: a socket's
// deadline can fire a moment before the context's.
func endOfContext(ctx context.Context) (EndKind, bool) {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, ErrOuterTimeout) {
			return EndOuterTimeout, true
		}
		return EndInterrupted, true
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return EndOuterTimeout, true
	}
	return "", false
}

// fromSocket reports whether the system, and not TLS, returned an error.
func fromSocket(err error) bool {
	_, ok := errors.AsType[syscall.Errno](err)
	return ok
}

// wasReset reports whether a write failed because the peer reset the
// connection.
func wasReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
