package adapter

import (
	"sync/atomic"
	"time"
)

// Longest is the longest time that something took so far; its zero value is ready. A backend looks for what a lost
// answer was about as long as such calls were seen to take. Safe for concurrent use.
type Longest struct{ ns atomic.Int64 }

// Took notes that it took d this time.
func (l *Longest) Took(d time.Duration) {
	for before := l.ns.Load(); int64(d) > before && !l.ns.CompareAndSwap(before, int64(d)); before = l.ns.Load() {
	}
}

// Longest returns the longest time that Took was given, 0 while it was given none.
func (l *Longest) Longest() time.Duration { return time.Duration(l.ns.Load()) }
