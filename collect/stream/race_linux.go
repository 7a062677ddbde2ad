//go:build race

package stream

import "syscall"

// raceAcquire tells the race detector that a read of fd has returned. It knows
// the order of a write and the read that gets its bytes from package syscall
// only, and our recvmsg goes around that; a read of nothing makes up for it.
func raceAcquire(fd uintptr) { _, _ = syscall.Read(int(fd), nil) }
