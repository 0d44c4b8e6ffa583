//go:build !linux

package clock

import "time"

// SinceBoot returns a clock that is not affected by setting the time. On this system it stops while the machine is
// suspended.
func SinceBoot() func() time.Duration { return monotonic() }
