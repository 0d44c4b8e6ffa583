// Package clock is the source of time for stored decisions: what is due, what has expired, what is kept. Package sqldb
// has a Clock for each database and gives its reading to every operation. Other packages read it by store.Store.Now,
// and never compare a stored time with the clock of their machine. SinceBoot measures how much time has passed.
package clock

import (
	"sync"
	"time"
)

// Reading is what a Clock shows, in microseconds since 1970.
type Reading struct {
	// Now is the time that is stored, and by which something is due.
	Now int64
	// Horizon is the time up to which things expire: what has an expiry at or before it is over. It is Now, except
	// after a jump forward, which makes everything look old: then it stays behind by as much as was jumped over, until
	// that much time has passed.
	Horizon int64
	// Since is Now right after the newest jump, or 0 if Horizon is Now. Things made at Since or later may be judged by
	// Now.
	Since int64
}

// At returns the reading of a clock that has never jumped.
func At(t time.Time) Reading {
	now := t.UnixMicro()
	return Reading{Now: now, Horizon: now}
}

// Expiry returns the time up to which things expire that were made at a time.
func (r Reading) Expiry(made int64) int64 {
	if r.Since > 0 && made >= r.Since {
		return r.Now
	}
	return r.Horizon
}

// Patience is how long the clock of a machine must have been ahead or behind before that is believed. A clock that is
// wrong for a moment changes nothing.
const Patience = 5 * time.Minute

// Slack is how far a clock may be from where it is expected. It covers slow drift, and answers of a database that come
// late.
const Slack = 2 * time.Second

// Clock follows a clock that may be set, the source, by one that may not. Safe for concurrent use.
//
// Between two times heard of the source it goes on by itself. When the source has jumped, it goes on as if nothing had
// happened until the jump has lasted for its patience. A jump back makes things live longer, which does no harm. A jump
// while no process runs cannot be told from a long pause.
type Clock struct {
	passed   func() time.Duration
	patience time.Duration

	mu      sync.Mutex
	heard   bool
	now     int64         // the time when it was last believed
	at      time.Duration // passed at that moment
	doubted bool          // the source has jumped, and is not believed yet
	first   time.Duration // passed when it was doubted first
	lag     time.Duration // of Horizon
	jumped  time.Duration // passed at the newest jump forward
	since   int64
}

// New returns a Clock that shows nothing before it has heard a time. passed must not be moved by the setting of a
// clock.
func New(passed func() time.Duration, patience time.Duration) *Clock {
	return &Clock{passed: passed, patience: patience}
}

// Hear notes what the source shows.
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

// patient reports whether a jump is to be waited out.
func (c *Clock) patient(at time.Duration) bool {
	if !c.doubted {
		c.doubted, c.first = true, at
	}
	return at-c.first < c.patience
}

func (c *Clock) reading(at time.Duration) int64 { return c.now + (at - c.at).Microseconds() }

// Read returns what the clock shows. It must have heard a time.
func (c *Clock) Read() Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.reading(c.passed())
	return Reading{Now: now, Horizon: now - c.lag.Microseconds(), Since: c.since}
}
