package operate

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// counted is a peer that counts its requests.
type counted struct {
	http.Handler
	n atomic.Int64
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.n.Add(1)
	c.Handler.ServeHTTP(w, r)
}

const callCount = "apbridge_upstream_call_duration_seconds_count"

// calls returns the numbers of an operation's calls by outcome, and the total.
func calls(b *rig.Bridge, operation string) (outcomes map[string]int, all int) {
	b.T.Helper()
	outcomes = map[string]int{}
	for _, line := range b.Metric(callCount) {
		labels, value, _ := strings.Cut(line, "} ")
		n, err := strconv.Atoi(value)
		if err != nil {
			b.T.Fatalf("%s: %v", line, err)
		}
		all += n
		if _, rest, ok := strings.Cut(labels, `operation="`+operation+`",outcome="`); ok {
			outcomes[strings.TrimSuffix(rest, `"`)] = n
		}
	}
	return outcomes, all
}

func expectCalls(b *rig.Bridge, operation, outcome string, want int) {
	b.T.Helper()
	if got, _ := calls(b, operation); len(got) != 1 || got[outcome] != want {
		b.T.Errorf("calls of operation %s: %v, want %d %s\n%s", operation, got, want, outcome, strings.Join(b.Metric(callCount), "\n"))
	}
}

// TestMetricsCountEveryCall checks that each call of an agent is counted once, by its operation and outcome.
func TestMetricsCountEveryCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent      http.Handler
		operations map[string]int
	}{
		"task/step":  {legacyagent.Handler(), map[string]int{"create": 1, "step": 3}},
		"thread/run": {threadagent.Handler(), map[string]int{"run": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := &counted{Handler: c.agent}
			b := rig.InFront(t, peer)
			b.Post("/runs/wait", rig.OneRun).OK()
			for operation, n := range c.operations {
				expectCalls(b, operation, "ok", n)
			}
			rig.Eventually(t, "each request is counted", func() bool {
				_, all := calls(b, "")
				return int64(all) == peer.n.Load()
			})
		})
	}
}

// TestMetricsCountFailedCalls checks that a failed call is counted by the class of its failure, and that a retried call
// is counted again.
func TestMetricsCountFailedCalls(t *testing.T) {
	t.Parallel()
	failing := func(agent http.Handler, watches func(*http.Request) bool, times int64, fail http.HandlerFunc) http.Handler {
		var n atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if watches(r) && n.Add(1) <= times {
				fail(w, r)
				return
			}
			agent.ServeHTTP(w, r)
		})
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(code)
		}
	}
	broken := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	steps, graph := adaptertest.NewStepAgent(adaptertest.Plain), threadagent.Handler()
	for name, c := range map[string]struct {
		agent     http.Handler
		operation string
		want      map[string]int
	}{
		"an error":      {failing(legacyagent.Handler(), rig.StepPosts, 1, status(500)), "step", map[string]int{"error": 1}},
		"a refusal":     {failing(legacyagent.Handler(), rig.StepPosts, 1, status(400)), "step", map[string]int{"refused": 1}},
		"a broken one":  {failing(steps, rig.StepPosts, 1, broken), "step", map[string]int{"broken": 1}},
		"no time left":  {failing(legacyagent.Handler(), rig.StepPosts, 1, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "step", map[string]int{"timeout": 1}},
		"a second try":  {failing(graph, rig.RunPosts, 1, status(503)), "run", map[string]int{"error": 1, "ok": 1}},
		"a third try":   {failing(graph, rig.RunPosts, 2, status(429)), "run", map[string]int{"refused": 2, "ok": 1}},
		"nobody at all": {nil, "read", map[string]int{"unreachable": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := adaptertest.Serve(t, c.agent)
			if c.agent == nil {
				srv.Close()
			}
			b := rig.InFrontOf(t, srv.URL, func(a *config.Agent) {
				if name == "no time left" {
					a.StepTimeout = 2 * time.Second
				}
				if c.agent == nil {
					a.Dialect = "taskstep"
				}
			})
			b.Post("/runs/wait", rig.OneRun)
			for outcome, n := range c.want {
				if got, _ := calls(b, c.operation); got[outcome] != n {
					t.Errorf("calls of operation %s: %v, want %v\n%s", c.operation, got, c.want, strings.Join(b.Metric(callCount), "\n"))
				}
			}
		})
	}
}
