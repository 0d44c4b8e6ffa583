package chore

import (
	"testing"
	"time"
)

func TestC6ClockThatJumpsDeletesNothingEarly(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	wall, mono := start, time.Duration(0)
	g := &jumpGuard{wall: func() time.Time { return wall }, mono: func() time.Duration { return mono }}
	pass := func(d time.Duration) { wall, mono = wall.Add(d), mono+d }
	g.now()
	for _, s := range []struct {
		name       string
		jump, pass time.Duration
		lag        time.Duration // of what older rows are judged by
	}{
		{"nothing happens", 0, time.Minute, 0},
		{"slow drift", time.Second, time.Minute, 0},
		{"a leap second", -time.Second, time.Minute, 0},
		{"an hour forward", time.Hour, time.Minute, time.Hour},
		{"half an hour later", 0, 30 * time.Minute, time.Hour},
		{"the hour has really passed", 0, 30 * time.Minute, 0},
		{"an hour back", -time.Hour, time.Minute, 0},
		{"and forward again", time.Hour, time.Minute, time.Hour},
		{"and back again", -time.Hour, time.Minute, 0},
		{"ten years", 10 * 365 * 24 * time.Hour, time.Minute, 10 * 365 * 24 * time.Hour},
		{"and another hour", time.Hour, time.Minute, 10*365*24*time.Hour + time.Hour},
	} {
		pass(s.pass)
		wall = wall.Add(s.jump)
		x := g.now()
		if got := x.Now.Sub(x.Before); got.Round(10*time.Second) != s.lag || !x.Now.Equal(wall) {
			t.Errorf("%s: lag %s, want %s", s.name, got, s.lag)
		}
		if s.lag == 0 != x.Since.IsZero() {
			t.Errorf("%s: since %s", s.name, x.Since)
		}
	}
}
