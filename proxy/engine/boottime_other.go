//go:build !linux

package engine

import "time"

// sinceBoot is a clock that no setting of the time moves. Here it stands still while
// the machine is suspended.
func sinceBoot() func() time.Duration { return monotonic() }
