package backend

import (
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// retrying is a server that sends the error of an attempt and retries it, as older LangGraph servers do. Its stream
// closes after the error, or continues.
func retrying(closes bool) *adaptertest.ThreadAgent {
	p := adaptertest.ChatPlay()
	const failed = 5 // frames, then the error
	again := append([]string{`error {"error":"ConnectError","message":"the model is away"}`, `metadata {"run_id":"{{run}}","attempt":2}`}, p.Frames[failed:]...)
	p.Frames = append(p.Frames[:failed:failed], again...)
	if closes {
		p.CloseAfter = []int{failed + 1}
	}
	return playing(p)
}

// TestAnAttemptThatIsMadeAgainUpstream checks that the error of an attempt is not the run's, whether the run continues
// or has ended, and that the next attempt's output is yielded once.
func TestAnAttemptThatIsMadeAgainUpstream(t *testing.T) {
	t.Parallel()
	run := func(status string) map[string]*adaptertest.Canned {
		return map[string]*adaptertest.Canned{routeRun: {Status: 200, Type: "application/json", Body: `{"status":"` + status + `"}`, Times: 2}}
	}
	whole := adaptertest.Collect(within(t), scripted(t, playing(adaptertest.ChatPlay())), say("hi"), 0)
	for name, c := range map[string]struct {
		closes bool
		canned map[string]*adaptertest.Canned
	}{
		"it waits": {true, run("pending")}, "it works": {true, run("running")}, "it has ended": {true, nil}, "in one stream": {false, run("running")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := retrying(c.closes)
			a.Canned = c.canned
			tr := adaptertest.Collect(within(t), scripted(t, a), say("hi"), 0)
			if tr.Err != nil || tr.End() == nil || tr.End().Status != mapping.RunSuccess || a.Work() != 1 {
				t.Fatalf("error %v, end %+v, %d runs", tr.Err, tr.End(), a.Work())
			}
			if diff := cmp.Diff(outputs(whole), outputs(tr)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

// outputs returns the output of a run's nodes.
func outputs(tr adaptertest.Trace) (list []string) {
	for _, ev := range tr.Events {
		if ev.Kind == mapping.KindUpdate || ev.Kind == mapping.KindDelta {
			list = append(list, ev.Head.Node+" "+string(ev.Data))
		}
	}
	return list
}

// TestRetriesOfManyRuns checks that a run tries an overloaded or unreachable agent three times at most, and that such
// an agent never sees more runs at once than its concurrency.
func TestRetriesOfManyRuns(t *testing.T) {
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
