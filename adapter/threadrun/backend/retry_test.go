package backend

import (
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

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
			if n := a.Calls(routeStart); n > upstream.Tries*runs {
				t.Errorf("%d requests for %d runs, want %d at most", n, runs, upstream.Tries*runs)
			}
		})
	}
}
