//go:build !linux

package serve

import "time"

// monotonic is only needed for systemd, which runs only on Linux.
func monotonic() time.Duration { return 0 }
