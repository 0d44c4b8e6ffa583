package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// metric is what /metrics says of one name, sorted, without the name itself.
func (b *bridge) metric(name string) []string {
	b.t.Helper()
	var lines []string
	for line := range strings.Lines(string(b.get("/metrics").ok().body)) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name+"{"); ok {
			lines = append(lines, "{"+rest)
		}
	}
	slices.Sort(lines)
	return lines
}

// TestMetricsCountTheQueue: what waits for a slot, for its thread or for its time is
// in the queue, and what runs or has ended is not.
func TestMetricsCountTheQueue(t *testing.T) {
	t.Parallel()
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 1)
	busy := adaptertest.Serve(t, g).URL
	agents := map[string]config.Agent{
		"agent": agentAt(busy, whole, func(a *config.Agent) { a.Concurrency = 1 }),
		"other": agentAt(adaptertest.Serve(t, http.NotFoundHandler()).URL),
	}
	b := startBridge(t, configFor(t, agents))
	queued := func(want string) {
		t.Helper()
		if got := b.metric("apbridge_runs_queued"); !slices.Equal(got, []string{`{agent="agent"} ` + want, `{agent="other"} 0`}) {
			t.Errorf("%v, want %s for agent", got, want)
		}
	}
	queued("0")
	at := b.thread()
	runs := []string{b.begin(at, "")}
	g.await(t)
	queued("0")
	runs = append(runs, b.begin(b.thread(), ""), b.begin(at, `"multitask_strategy":"enqueue",`))
	queued("2")
	later := b.begin(b.thread(), `"after_seconds":3600,`)
	queued("3")
	g.open()
	for _, run := range runs {
		b.get(run + "/join").ok()
	}
	queued("1")
	b.post(later+"/cancel?wait=1", "").ok()
	queued("0")
}
