// Package logthrottle limits how often a repeated failure is logged. Background work and request handlers use it. It
// writes no lines itself; callers query whether a line is due.
package logthrottle

import (
	"sync"
	"time"

	"go.uber.org/zap"
)

// every is the interval at which a repeated failure is logged.
const every = time.Minute

// Limiter allows one line at the first failure and then one a minute while failures continue. The zero value is ready.
// It is not safe for concurrent use.
type Limiter struct {
	next   time.Time
	failed int // since the last line
	times  int
}

// Allow reports whether to log this failure. Call it at every failure.
func (c *Limiter) Allow() bool {
	c.failed++
	now := time.Now()
	if now.Before(c.next) {
		return false
	}
	c.times, c.failed = c.failed, 0
	c.next = now.Add(every)
	return true
}

// Suppressed returns a field with the number of failures for which the line stands, including the newest.
func (c *Limiter) Suppressed() zap.Field { return zap.Int("times", c.times) }

// Reset is called after a success. The next failure is logged at once.
func (c *Limiter) Reset() { *c = Limiter{} }

// Limiters holds a Limiter for each of a few kinds of failure. The zero value is ready. Safe for concurrent use.
type Limiters struct {
	mu sync.Mutex
	of map[string]*Limiter
}

// Allow reports whether to log a failure of a kind, and how many failures the line stands for.
func (k *Limiters) Allow(kind string) (times int, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[string]*Limiter{}
	}
	if k.of[kind] == nil {
		k.of[kind] = &Limiter{}
	}
	due = k.of[kind].Allow()
	return k.of[kind].times, due
}
