package stream

import (
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A full accept queue drops connection attempts in silence, as a dead host does.
func TestIdleLimitEndsAConnectThatHangs(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	for full := false; !full; {
		c, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
		if full = err != nil; !full {
			t.Cleanup(func() { c.Close() })
		}
	}
	res := do(t, Request{URL: "http://" + addr, IdleLimit: short})
	wantEnd(t, res, EndIdleTimeout, "connect")
	if res.ConnectNs != nil {
		t.Error("connected")
	}
	ctx, cancel := cancelAfter(t.Context(), ErrOuterTimeout)
	defer cancel()
	wantEnd(t, doWith(t, ctx, Request{URL: "http://" + addr}), EndOuterTimeout, "connect")
}
