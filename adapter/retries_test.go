package adapter

import (
	"testing"
	"time"
)

// TestJitter checks that runs refused at the same time pause for different times, and never for less than the agent
// requested.
func TestJitter(t *testing.T) {
	t.Parallel()
	const d = time.Second
	seen := map[time.Duration]bool{}
	for range 100 {
		got := Jitter(d)
		if got < d || got > d+d/2 {
			t.Fatalf("%s for %s", got, d)
		}
		seen[got] = true
	}
	if len(seen) < 50 {
		t.Errorf("%d different pauses out of 100", len(seen))
	}
	if Jitter(0) != 0 || Jitter(-d) != 0 {
		t.Error("a zero pause became longer")
	}
}
