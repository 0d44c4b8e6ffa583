//go:build !linux

package serve

import "time"

// monotonic is asked for by systemd, which is on Linux only.
func monotonic() time.Duration { return 0 }
