package operate

import (
	"net/http"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestMetricsCountTheQueue checks that a run waiting for a slot, for its thread or for its time is in the queue, and
// that an active or ended one is not.
func TestMetricsCountTheQueue(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	busy := adaptertest.Serve(t, g).URL
	agents := map[string]config.Agent{
		"agent": rig.AgentAt(busy, rig.Whole, func(a *config.Agent) { a.Concurrency = 1 }),
		"other": rig.AgentAt(adaptertest.Serve(t, http.NotFoundHandler()).URL),
	}
	b := rig.StartBridge(t, rig.ConfigFor(t, agents))
	queued := func(want string) {
		t.Helper()
		rig.Eventually(t, want+" runs queued", func() bool {
			got := b.Metric("apbridge_runs")
			return slices.Contains(got, `{agent="agent",state="queued"} `+want) && slices.Contains(got, `{agent="other",state="queued"} 0`)
		})
	}
	queued("0")
	at := b.Thread()
	runs := []string{b.Begin(at, "")}
	g.Await(t)
	queued("0")
	runs = append(runs, b.Begin(b.Thread(), ""), b.Begin(at, `"multitask_strategy":"enqueue",`))
	queued("2")
	later := b.Begin(b.Thread(), `"after_seconds":3600,`)
	queued("3")
	g.Open()
	for _, run := range runs {
		b.Get(run + "/join").OK()
	}
	queued("1")
	b.Post(later+"/cancel?wait=1", "").OK()
	queued("0")
}
