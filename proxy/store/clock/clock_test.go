package clock

import (
	"testing"
	"time"
)

// setClock is a clock that can be set, with an independent elapsed time.
type setClock struct {
	wall   time.Time
	passed time.Duration
}

func (h *setClock) pass(c *Clock, d time.Duration) {
	for d > 0 { // a process reads the clock at least every minute
		step := min(d, time.Minute)
		h.wall, h.passed, d = h.wall.Add(step), h.passed+step, d-step
		c.Hear(h.wall)
	}
}

func TestClockThatJumpsDeletesNothingEarly(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for _, patience := range []time.Duration{0, Patience} {
		h := &setClock{wall: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
		c := New(func() time.Duration { return h.passed }, patience)
		c.Hear(h.wall)
		for _, s := range []struct {
			name       string
			jump, pass time.Duration
			lag        time.Duration // of the horizon
		}{
			{"nothing happens", 0, time.Minute, 0},
			{"slow drift", time.Second, 10 * time.Minute, 0},
			{"a leap second", -time.Second, 10 * time.Minute, 0},
			{"an hour forward", time.Hour, 10 * time.Minute, time.Hour},
			{"half an hour later", 0, 30 * time.Minute, time.Hour},
			{"the hour has really passed", 0, 30 * time.Minute, 0},
			{"an hour back", -time.Hour, 10 * time.Minute, 0},
			{"and forward again", time.Hour, 10 * time.Minute, time.Hour},
			{"and back again", -time.Hour, 10 * time.Minute, 0},
			{"a year back", -year, 10 * time.Minute, 0},
			{"a year forward", year, 10 * time.Minute, year},
			{"and another hour", time.Hour, 10 * time.Minute, year + time.Hour},
			{"and the year back", -year, 10 * time.Minute, time.Hour},
		} {
			h.wall = h.wall.Add(s.jump)
			h.pass(c, s.pass)
			r := c.Read()
			if got := time.Duration(r.Now-r.Horizon) * time.Microsecond; got != s.lag || r.Now != h.wall.UnixMicro() {
				t.Errorf("%s, patience %v: lag %v, want %v; now %v, want %v", s.name, patience, got, s.lag, time.UnixMicro(r.Now), h.wall)
			}
			if s.lag == 0 != (r.Since == 0) {
				t.Errorf("%s, patience %v: since %v", s.name, patience, time.UnixMicro(r.Since))
			}
		}
	}
}

func TestBrieflyWrongClockHasNoEffect(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{time.Hour, -time.Hour, 365 * 24 * time.Hour, -365 * 24 * time.Hour} {
		h := &setClock{wall: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
		c := New(func() time.Duration { return h.passed }, Patience)
		c.Hear(h.wall)
		for range 3 {
			right := h.wall
			h.wall = h.wall.Add(jump)
			c.Hear(h.wall)
			for range 4 {
				h.pass(c, time.Minute)
				right = right.Add(time.Minute)
				if r := c.Read(); r != At(right) {
					t.Errorf("a jump of %v: %+v, want %v", jump, r, right)
				}
			}
			h.wall = h.wall.Add(-jump)
			h.pass(c, 10*time.Minute)
			if r := c.Read(); r != At(h.wall) {
				t.Errorf("after a jump of %v: %+v, want %v", jump, r, h.wall)
			}
		}
	}
}
