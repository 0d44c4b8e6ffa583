package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot returns a clock that no setting of the time moves and that goes on while the machine is suspended, which
// Go's monotonic clock does not. A virtual machine that is paused from outside cannot notice it by any clock of its
// own.
func SinceBoot() func() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return monotonic()
	}
	return func() time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it worked before
		return time.Duration(ts.Nano())
	}
}
