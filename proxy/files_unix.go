//go:build unix

package proxy

import (
	"math"
	"syscall"
)

// openFiles returns the number of files that this process may have open, or 0 if it is unknown.
func openFiles() int64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt64 {
		return 0
	}
	return int64(limit.Cur)
}
