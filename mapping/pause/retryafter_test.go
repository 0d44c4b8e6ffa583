package pause_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().UTC().Add(90 * time.Second)
		for value, want := range map[string]time.Duration{
			"":                              0,
			"7":                             7 * time.Second,
			" 7 ":                           7 * time.Second,
			"0":                             0,
			"-7":                            0,
			"1.5":                           0,
			"soon":                          0,
			"4000000000000":                 1 << 30 * time.Second,
			soon.Format(http.TimeFormat):    90 * time.Second,
			soon.Format(time.RFC850):        90 * time.Second,
			soon.Format(time.ANSIC):         90 * time.Second,
			"Sun, 06 Nov 1994 08:49:37 GMT": 0,
		} {
			if got := pause.RetryAfter(value); got != want {
				t.Errorf("%q: %v, not %v", value, got, want)
			}
		}
	})
}
