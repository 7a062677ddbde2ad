package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Bounds of the probe for kernel stamps. The kernel turns stamping on from a
// work queue, so the first reads may lack a stamp.
const (
	probeTries = 50
	probePause = 2 * time.Millisecond
)

var errNoStamp = errors.New("loopback reads carry no SCM_TIMESTAMPNS")

// KernelStampsAvailable reports whether reads carry the kernel's receive time
// on this host, tried once per process over a loopback connection, and the
// reason when they do not. From the first call on, the kernel keeps stamping as
// long as the process lives. Do calls it before its first exchange.
func KernelStampsAvailable() (bool, string) {
	if err := probeStamps(); err != nil {
		return false, err.Error()
	}
	return true, ""
}

var probeStamps = sync.OnceValue(func() (err error) {
	if err := holdStamps(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	client, err := dial(ctx, l.Addr().String(), func() {})
	if err != nil {
		return fmt.Errorf("dial loopback: %w", err)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	server, err := l.Accept()
	if err != nil {
		return fmt.Errorf("accept on loopback: %w", err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	return awaitStamp(client, server)
})

// awaitStamp sends single bytes from server to client until one is read with a
// stamp.
func awaitStamp(client, server net.Conn) error {
	conn, err := newStampedConn(client, time.Now(), time.Second)
	if err != nil {
		return err
	}
	var b [1]byte
	for range probeTries {
		if _, err := server.Write(b[:]); err != nil {
			return fmt.Errorf("write on loopback: %w", err)
		}
		if _, err := conn.Read(b[:]); err != nil {
			return fmt.Errorf("read on loopback: %w", err)
		}
		if conn.last.hasKernel {
			return nil
		}
		time.Sleep(probePause)
	}
	return errNoStamp
}
