package engine

import (
	"time"

	"github.com/apbridge/apbridge/proxy/store"
)

// leap is how far the wall clock may run from the monotonic one between two looks
// before that counts as a jump.
const leap = 2 * time.Second

// guard reads the wall clock for what is deleted by it. A clock that jumps
// forward makes everything look old. So what was there before the jump is judged
// by the clock as it would be without it, until as much time has really passed as
// was jumped over; what was made since is judged by the clock as it is. A clock
// that jumps back makes things live longer, which harms nobody. A jump while no
// process runs cannot be told from a long pause.
type guard struct {
	wall func() time.Time
	mono func() time.Duration

	seen   bool
	last   time.Time
	at     time.Duration
	lag    time.Duration // by how much the clock is ahead of what older rows are judged by
	since  time.Time     // wall clock right after the newest jump
	jumped time.Duration // monotonic time of it
}

func newGuard() *guard {
	start := time.Now()
	return &guard{wall: time.Now, mono: func() time.Duration { return time.Since(start) }}
}

// look says what is over by now. It must be called often enough that a jump can
// be told from slow drift: every minute or so.
func (g *guard) look() store.Expiry {
	now, at := g.wall().Round(0), g.mono()
	if g.seen {
		g.note(now, at, now.Sub(g.last)-(at-g.at))
	}
	g.seen, g.last, g.at = true, now, at
	return store.Expiry{Now: now, Since: g.since, Before: now.Add(-g.lag)}
}

func (g *guard) note(now time.Time, at, jump time.Duration) {
	switch {
	case jump > leap:
		g.lag += jump
		g.since, g.jumped = now, at
	case jump < -leap:
		g.lag = max(0, g.lag+jump)
	}
	if g.lag > 0 && at-g.jumped >= g.lag {
		g.lag = 0
	}
	if g.lag == 0 {
		g.since = time.Time{}
	}
}
