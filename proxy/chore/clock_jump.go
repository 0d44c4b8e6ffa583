package chore

import (
	"time"

	"github.com/apbridge/apbridge/proxy/store"
)

// leap is how far the wall clock may run from the monotonic one between two readings before that counts as a jump.
const leap = 2 * time.Second

// jumpGuard reads the wall clock for what is deleted by it. A clock that jumps forward makes everything look old. So
// what was there before the jump is judged by the clock as it would be without it, until as much time has really passed
// as was jumped over; what was made since is judged by the clock as it is. A clock that jumps back makes things live
// longer, which does no harm. A jump while no process runs cannot be told from a long pause.
type jumpGuard struct {
	wall func() time.Time
	mono func() time.Duration

	seen   bool
	last   time.Time
	at     time.Duration
	lag    time.Duration // by how much the clock is ahead of what older rows are judged by
	since  time.Time     // wall clock right after the newest jump
	jumped time.Duration // monotonic time of it
}

func newJumpGuard() *jumpGuard {
	start := time.Now()
	return &jumpGuard{wall: time.Now, mono: func() time.Duration { return time.Since(start) }}
}

// now says what is over by now. It must be called often enough that a jump can be told from slow drift: every minute or
// so.
func (g *jumpGuard) now() store.Expiry {
	wall, at := g.wall().Round(0), g.mono()
	if g.seen {
		g.note(wall, at, wall.Sub(g.last)-(at-g.at))
	}
	g.seen, g.last, g.at = true, wall, at
	return store.Expiry{Now: wall, Since: g.since, Before: wall.Add(-g.lag)}
}

func (g *jumpGuard) note(wall time.Time, at, jump time.Duration) {
	switch {
	case jump > leap:
		g.lag += jump
		g.since, g.jumped = wall, at
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
