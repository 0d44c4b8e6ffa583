package threadrun

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// TestA13RetryAfterHasACap: what an agent asks for is waited, up to 5 s, and up to half as long
// again by chance.
func TestA13RetryAfterHasACap(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"2": 2 * time.Second, "5": 5 * time.Second, "6": 5 * time.Second, "86400": 5 * time.Second, "10000000000": 5 * time.Second,
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): 5 * time.Second,
		"": 50 * time.Millisecond, "soon": 50 * time.Millisecond, "-3": 50 * time.Millisecond,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 50 * time.Millisecond,
	} {
		refused := &answerError{status: 503, retryAfter: retryAfter(http.Header{"Retry-After": {value}})}
		for range 20 {
			if got := retryWait(refused, 1); got < want || got > want+want/2 {
				t.Errorf("Retry-After %q: %s, want %s and up to half of it more", value, got, want)
			}
		}
	}
}

// TestA13RetriesOfManyRuns: before an agent that is overloaded, or not there, a run makes three
// attempts and no more, so that as many runs as may be under way at once (concurrency)
// are all that such an agent sees.
func TestA13RetriesOfManyRuns(t *testing.T) {
	t.Parallel()
	const runs = 10
	for name, c := range map[string]struct {
		answer adaptertest.Canned
		code   string
	}{
		"overloaded": {adaptertest.Canned{Status: 429, Type: "text/plain", Body: "later"}, mapping.CodeUpstreamError},
		"starting":   {adaptertest.Canned{Status: 503, Header: map[string]string{"Retry-After": "0"}}, mapping.CodeUpstreamError},
		"breaking":   {adaptertest.Canned{}, mapping.CodeOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := playing(adaptertest.ChatPlay())
			a.Canned = map[string]*adaptertest.Canned{routeStart: &c.answer}
			b := scripted(t, a)
			var all sync.WaitGroup
			for range runs {
				all.Go(func() {
					if tr := adaptertest.Collect(within(t), b, say("hi"), 0); tr.Code() != c.code {
						t.Errorf("error %v", tr.Err)
					}
				})
			}
			all.Wait()
			if n := a.Calls(routeStart); n > retryTries*runs {
				t.Errorf("%d requests for %d runs, want %d at most", n, runs, retryTries*runs)
			}
		})
	}
}
