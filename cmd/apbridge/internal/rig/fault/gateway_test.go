package fault

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// gatewayScene is an agent behind a gateway that returns 504.
type gatewayScene struct {
	name         string
	kind         adaptertest.Kind
	watches      func(*http.Request) bool
	nth          int
	keeps        bool   // the agent does not get the request
	asks         string // X-Apbridge-Retries of the request
	code         any    // of the run's error; nil: it succeeds
	tasks, steps int    // what the agent did in all
}

func gatewayScenes() []gatewayScene {
	const unknown = "outcome_unknown"
	creations := func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/tasks")
	}
	return []gatewayScene{
		{name: "the creation", kind: adaptertest.Plain, watches: creations, nth: 1, tasks: 1, steps: 3},
		{name: "a creation that is not listed", kind: adaptertest.Bee, watches: creations, nth: 1, code: unknown, tasks: 1},
		{name: "a step", kind: adaptertest.Plain, watches: rig.StepPosts, nth: 2, tasks: 1, steps: 3},
		{name: "a step that is not listed", kind: adaptertest.JS, watches: rig.StepPosts, nth: 2, code: unknown, tasks: 1, steps: 2},
		{name: "a step that has not come", kind: adaptertest.Plain, watches: rig.StepPosts, nth: 2, keeps: true, code: unknown, tasks: 1, steps: 1},
		{name: "a client that wants it twice", kind: adaptertest.JS, watches: rig.StepPosts, nth: 2, asks: "1", tasks: 2, steps: 5},
	}
}

// TestGatewayTimesOutForTheAgent covers a gateway that times out in front of the agent. If the agent reports the task
// or step, that result is used. Otherwise the run ends with an unknown outcome. It is retried only if the client's
// request demands it, not because of the configuration.
func TestGatewayTimesOutForTheAgent(t *testing.T) {
	t.Parallel()
	for _, s := range gatewayScenes() {
		for _, retries := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s/%d retries/threadrun", s.name, retries), func(t *testing.T) {
				t.Parallel()
				s.check(t, retries, func(b *rig.Bridge) any {
					body := `{"assistant_id":"agent",` + rig.SaysHi + `}`
					if s.asks != "" {
						return b.Do("POST", "/runs/wait", body, "X-Apbridge-Retries", s.asks).OK().At("__error__.error")
					}
					return b.Post("/runs/wait", body).OK().At("__error__.error")
				})
			})
			if s.asks != "" {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d retries/taskstep", s.name, retries), func(t *testing.T) {
				t.Parallel()
				s.check(t, retries, func(b *rig.Bridge) any {
					steps := rig.PullAll(t, b, b.Task(`{"input":"hi"}`), "")
					return steps[len(steps)-1].At("additional_output.error.type")
				})
			})
		}
	}
}

// check creates a run and compares its error and the agent's work.
func (s gatewayScene) check(t *testing.T, retries int, run func(*rig.Bridge) (code any)) {
	t.Helper()
	agent := adaptertest.NewStepAgent(s.kind)
	g := &adaptertest.Gateway{Agent: agent, Watches: s.watches, Nth: s.nth, Status: http.StatusGatewayTimeout, Keeps: s.keeps}
	b := rig.InFront(t, g, func(a *config.Agent) { a.Retries = retries })
	if code := run(b); code != s.code {
		t.Errorf("the run ended with %v, want %v", code, s.code)
	}
	if c := agent.Counts(); c.Creates != s.tasks || c.Steps != s.steps {
		t.Errorf("%d tasks and %d steps, want %d and %d", c.Creates, c.Steps, s.tasks, s.steps)
	}
}
