//go:build !linux

package clock

import "time"

// SinceBoot returns a clock that no setting of the time moves. Here it stands still while the machine is suspended.
func SinceBoot() func() time.Duration { return monotonic() }
