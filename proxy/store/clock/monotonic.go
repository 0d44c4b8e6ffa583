package clock

import "time"

// monotonic is Go's monotonic clock.
func monotonic() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) + 1 } // never 0
}
