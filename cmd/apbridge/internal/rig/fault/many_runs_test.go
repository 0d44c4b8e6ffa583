package fault

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// heldAgent is an agent that holds its steps back at first and counts the concurrent requests for steps.
type heldAgent struct {
	http.Handler
	free      chan struct{}
	now, peak atomic.Int64
}

func (c *heldAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps") {
		n := c.now.Add(1)
		defer c.now.Add(-1)
		for p := c.peak.Load(); n > p && !c.peak.CompareAndSwap(p, n); p = c.peak.Load() {
		}
		<-c.free // and then it executes the step, though its caller may have died
	}
	c.Handler.ServeHTTP(w, r)
}

// TestManyRunsAcrossADeath kills a process with a thousand runs, a few of them active. The next process is ready at
// once, respects the agent's concurrency, and executes every run once.
func TestManyRunsAcrossADeath(t *testing.T) {
	t.Parallel()
	const runs, atOnce = 1000, 8
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"done"`, Last: true}}}
	c := &heldAgent{Handler: agent, free: make(chan struct{})}
	b := rig.InFront(t, c, func(a *config.Agent) {
		a.Concurrency, a.StepTimeout, a.RunTimeout = atOnce, time.Hour, time.Hour // a slow machine takes a minute to create the runs
	})
	release := sync.OnceFunc(func() { close(c.free) })
	t.Cleanup(release) // the agent's server can only be closed without clients
	for range runs {
		b.Post("/runs", `{"assistant_id":"agent","on_completion":"keep",`+rig.SaysHi+`}`).OK()
	}
	rig.Eventually(t, "the agent has as many runs as allowed", func() bool { return c.now.Load() == atOnce })
	b.Kill()
	release()
	rig.Eventually(t, "the agent has done the requested work", func() bool { return c.now.Load() == 0 })
	b = b.Again()
	b.Get("/readyz").OK()
	for free := 0; free < runs; { // as long as it takes, provided that it makes progress
		before := free
		rig.Eventually(t, fmt.Sprintf("more than %d threads are free", before), func() bool {
			free, _ = strconv.Atoi(string(b.Post("/threads/count", `{"status":"idle"}`).OK().Body))
			return free > before
		})
	}
	if n := agent.Work(); n != runs {
		t.Errorf("the agent did %d steps for %d runs", n, runs)
	}
	if n := c.peak.Load(); n > atOnce {
		t.Errorf("the agent received %d concurrent requests for steps, at most %d are allowed", n, atOnce)
	}
}
