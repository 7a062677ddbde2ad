//go:build !unix

package selfcheck

import "errors"

// cpuTime is not known here.
func cpuTime() (int64, error) {
	return 0, errors.New("read CPU time: not supported on this system")
}
