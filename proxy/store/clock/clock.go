// Package clock provides the time for decisions about stored data, such as whether something is due or has expired.
// Package sqldb has a Clock for each database and passes its reading to every operation. Other packages read it with
// store.Store.Now, and never compare a stored time with the machine's clock. SinceBoot measures elapsed time. Start
// reading at Clock.
package clock

import (
	"sync"
	"time"
)

// Reading is the time shown by a Clock, in microseconds since 1970.
type Reading struct {
	// Now is the time to store and to compare due times with.
	Now int64
	// Horizon is the time to compare expiry times with: anything that expires at or before it has expired. It equals
	// Now, except after a jump forward, which would make everything look old. Then it lags behind by the length of the
	// jump, until that much time has passed.
	Horizon int64
	// Since is the value of Now right after the last jump, or 0 if Horizon equals Now. For things created at Since or
	// later, Now may be used instead of Horizon.
	Since int64
}

// At returns the reading of a clock that has never jumped.
func At(t time.Time) Reading {
	now := t.UnixMicro()
	return Reading{Now: now, Horizon: now}
}

// Expiry returns the time with which to compare the expiry of an object created at made.
func (r Reading) Expiry(made int64) int64 {
	if r.Since > 0 && made >= r.Since {
		return r.Now
	}
	return r.Horizon
}

// Patience is the time for which a machine's clock must have been ahead or behind before it is believed. A clock that
// is wrong for a short time changes nothing.
const Patience = 5 * time.Minute

// Slack is how far the clock may deviate from the expected time. It covers slow drift and late responses of a database.
const Slack = 2 * time.Second

// Clock follows a source clock that may be set, using a second clock that cannot be set. Safe for concurrent use.
//
// Between two readings of the source it advances by itself. After a jump of the source, it continues as if nothing had
// happened until the jump has lasted for its patience. After a jump back, data is kept longer, which does no harm. A
// jump while no process runs cannot be distinguished from a long pause.
type Clock struct {
	passed   func() time.Duration
	patience time.Duration

	mu      sync.Mutex
	heard   bool
	now     int64         // the last time that was believed
	at      time.Duration // passed at that time
	doubted bool          // the source has jumped and is not believed yet
	first   time.Duration // passed when the doubt began
	lag     time.Duration // of Horizon
	jumped  time.Duration // passed at the last jump forward
	since   int64
}

// New returns a Clock that has not received a time yet. passed must not be affected by setting a clock.
func New(passed func() time.Duration, patience time.Duration) *Clock {
	return &Clock{passed: passed, patience: patience}
}

// Hear records a time of the source.
func (c *Clock) Hear(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.passed()
	jump := time.Duration(0)
	if c.heard {
		jump = now.Sub(time.UnixMicro(c.reading(at)))
	}
	switch {
	case -Slack <= jump && jump <= Slack:
		c.doubted = false
		c.heard, c.now, c.at = true, now.UnixMicro(), at
	case !c.patient(at):
		c.doubted = false
		c.now, c.at = now.UnixMicro(), at
		if c.lag = max(0, c.lag+jump); jump > 0 {
			c.since, c.jumped = c.now, at
		}
	}
	if at-c.jumped >= c.lag {
		c.lag, c.since = 0, 0
	}
}

// patient reports whether to keep waiting for a jump to disappear.
func (c *Clock) patient(at time.Duration) bool {
	if !c.doubted {
		c.doubted, c.first = true, at
	}
	return at-c.first < c.patience
}

func (c *Clock) reading(at time.Duration) int64 { return c.now + (at - c.at).Microseconds() }

// Read returns the clock's reading. Hear must have been called before.
func (c *Clock) Read() Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.reading(c.passed())
	return Reading{Now: now, Horizon: now - c.lag.Microseconds(), Since: c.since}
}
