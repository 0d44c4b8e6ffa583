package adapter

import (
	"sync/atomic"
	"time"
)

// MaxLatency is the longest observed duration of a call. The zero value is ready to use. After a lost response, a
// backend searches for the effect of the call for about that long. Safe for concurrent use.
type MaxLatency struct{ ns atomic.Int64 }

// Observe records one duration.
func (l *MaxLatency) Observe(d time.Duration) {
	for before := l.ns.Load(); int64(d) > before && !l.ns.CompareAndSwap(before, int64(d)); before = l.ns.Load() {
	}
}

// Max returns the longest recorded duration, or 0 if none was recorded.
func (l *MaxLatency) Max() time.Duration { return time.Duration(l.ns.Load()) }
