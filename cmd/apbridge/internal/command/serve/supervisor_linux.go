package serve

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns CLOCK_MONOTONIC, by which systemd distinguishes reloads.
func monotonic() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		return 0
	}
	return time.Duration(at.Nano())
}
