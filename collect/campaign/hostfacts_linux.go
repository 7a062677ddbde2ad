package campaign

import "golang.org/x/sys/unix"

// clockSynchronised asks the kernel whether the wall clock is kept in time.
func clockSynchronised() (synchronised, known bool) {
	var state unix.Timex
	result, err := unix.Adjtimex(&state)
	if err != nil {
		return false, false
	}
	return result != unix.TIME_ERROR && state.Status&unix.STA_UNSYNC == 0, true
}

// freeBytes is the space a user may still fill below a folder.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize, nil
}
