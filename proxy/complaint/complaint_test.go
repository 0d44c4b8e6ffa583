package complaint

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestComplaintIsSaidAtGrowingIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Complaint
		said := 0
		for range 24 * 3600 { // it fails each second of a day
			if c.Due() {
				said++
			}
			time.Sleep(time.Second)
		}
		if said < 24 || said > 40 {
			t.Errorf("said %d times in a day", said)
		}
		if c.Due() {
			t.Error("said again at once")
		}
		c.Over()
		if !c.Due() {
			t.Error("not said, though it had worked meanwhile")
		}
	})
}
