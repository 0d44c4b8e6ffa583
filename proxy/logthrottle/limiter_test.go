package logthrottle

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestFailureIsLoggedOnceAMinuteWithItsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Limiter
		said, counted := 0, int64(0)
		for range 3600 { // it fails every second for an hour
			if c.Allow() {
				said++
				counted += c.Suppressed().Integer
			}
			time.Sleep(time.Second)
		}
		if said != 60 || counted != 3541 { // failures since the last line are not counted yet
			t.Errorf("logged %d times in an hour, with %d failures", said, counted)
		}
		if c.Allow(); c.Allow() {
			t.Error("logged again at once")
		}
		c.Reset()
		if !c.Allow() || c.Suppressed().Integer != 1 {
			t.Error("not logged or miscounted after a success")
		}
	})
}

func TestKindsAreThrottledSeparately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k Limiters
		want := func(kind string, times int, due bool) {
			t.Helper()
			if n, d := k.Allow(kind); d != due || due && n != times {
				t.Errorf("%s: %d times, %v", kind, n, d)
			}
		}
		want("away", 1, true)
		want("away", 0, false)
		want("full", 1, true)
		time.Sleep(time.Minute)
		want("away", 2, true)
		want("full", 1, true)
	})
}
