package upstream_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/upstream"
)

// TestRetryAfterHasACap checks that the pause is the agent's Retry-After, up to 5 s, plus random jitter of up to half
// of that.
func TestRetryAfterHasACap(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"2": 2 * time.Second, "5": 5 * time.Second, "6": 5 * time.Second, "86400": 5 * time.Second, "10000000000": 5 * time.Second,
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): 5 * time.Second,
		"": 50 * time.Millisecond, "soon": 50 * time.Millisecond, "-3": 50 * time.Millisecond,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 50 * time.Millisecond,
	} {
		refused := &upstream.Failure{Kind: upstream.Refused, Status: 503, Header: http.Header{"Retry-After": {value}}}
		for range 20 {
			if got := upstream.Wait(refused, 1); got < want || got > want+want/2 {
				t.Errorf("Retry-After %q: %s, want %s to 1.5 times as much", value, got, want)
			}
		}
	}
}
