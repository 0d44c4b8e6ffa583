package store_test

import (
	"testing"
	"time"
)

// A budget shrinks by what is taken, grows by what is given back and with the clock up to its span, and is not stuck
// after the clock was set back.
func TestRatesInTheDatabase(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		const second = time.Second
		for i, tt := range []struct{ after, cost, wait, left time.Duration }{
			{0, 60 * second, 0, 0},
			{0, second, second, 0},
			{10 * second, 15 * second, 5 * second, 10 * second},
			{0, 10 * second, 0, 0},
			{0, -30 * second, 0, 30 * second},
			{0, 20 * second, 0, 10 * second},
			{0, -30 * second, 0, 40 * second},
			{time.Hour, 60 * second, 0, 0},
			{-24 * time.Hour, second, second, 0},
			{10 * second, 5 * second, 0, 5 * second},
			{24 * time.Hour, 60 * second, 0, 0},
		} {
			clock.at = clock.at.Add(tt.after)
			wait, err := b.Rates.Take(t.Context(), "key/runs/a", tt.cost, time.Minute)
			if err != nil || wait != tt.wait {
				t.Errorf("step %d: wait %s, %v; want %s", i, wait, err, tt.wait)
			}
			if left, err := b.Rates.Left(t.Context(), "key/runs/a", time.Minute); err != nil || left != tt.left {
				t.Errorf("step %d: %s left, %v; want %s", i, left, err, tt.left)
			}
		}
	})
}
