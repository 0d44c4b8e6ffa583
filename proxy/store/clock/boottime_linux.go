package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot returns a clock that is not affected by setting the time and that, unlike Go's monotonic clock, keeps
// running while the machine is suspended. A virtual machine that is paused from outside cannot notice that with any of
// its clocks.
func SinceBoot() func() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return monotonic()
	}
	return func() time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it worked above
		return time.Duration(ts.Nano())
	}
}
