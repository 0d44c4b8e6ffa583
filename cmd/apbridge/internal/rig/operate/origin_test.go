package operate

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// origins is a peer that records the client requests that caused its calls.
type origins struct {
	http.Handler
	mu   sync.Mutex
	seen []string // id, traceparent and tracestate
}

func (o *origins) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.seen = append(o.seen, r.Header.Get("X-Request-Id")+" "+r.Header.Get("Traceparent")+" "+r.Header.Get("Tracestate"))
	o.mu.Unlock()
	o.Handler.ServeHTTP(w, r)
}

// calls returns the requests since the previous call, each once.
func (o *origins) calls() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := slices.Compact(o.seen)
	o.seen = nil
	return list
}

const (
	oneParent   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	otherParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)

func from(id, parent string) []string {
	return []string{"X-Request-Id", id, "Traceparent", parent, "Tracestate", "congo=t61rcWkgMzE"}
}

func (o *origins) want(t *testing.T, what string, calls ...string) {
	t.Helper()
	if got := o.calls(); !slices.Equal(got, calls) {
		t.Errorf("%s: the agent was called for the requests %q, want %q", what, got, calls)
	}
}

// TestAgentCallsHaveTheRequestsID checks that every call of an agent of either kind has the id and the trace of the
// client's request, even if the run had to wait in the database.
func TestAgentCallsHaveTheRequestsID(t *testing.T) {
	t.Parallel()
	for name, agent := range rig.EitherKind() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := &origins{Handler: agent()}
			b := rig.InFront(t, peer, rig.Whole, func(a *config.Agent) { a.Concurrency, a.Passthrough = 1, true })
			b.Do("POST", "/runs/wait", rig.OneRun, from("one", oneParent)...).OK()
			peer.want(t, "a run", "one "+oneParent+" congo=t61rcWkgMzE")
			b.Do("POST", "/runs/wait", rig.OneRun, "X-Request-Id", "two", "Traceparent", "no trace", "Tracestate", "congo=1").OK()
			peer.want(t, "without a trace that can be read", "two  ")
			b.Do("GET", "/agents/agent/upstream/else", "", from("three", oneParent)...)
			peer.want(t, "straight through", "three "+oneParent+" congo=t61rcWkgMzE")
		})
	}
}

// TestQueuedRunsKeepTheirRequest checks that the calls of a waiting run have its own request, not that of the run for
// which it waited.
func TestQueuedRunsKeepTheirRequest(t *testing.T) {
	t.Parallel()
	peer := &origins{Handler: adaptertest.NewStepAgent(adaptertest.Plain)}
	g := rig.NewGate(peer, rig.StepPosts, 1)
	b := rig.InFront(t, g, rig.Whole, func(a *config.Agent) { a.Concurrency = 1 })
	first := b.Begin(b.Thread(), "")
	g.Await(t)
	peer.calls()
	at := b.Thread()
	second := at + "/runs/" + b.Do("POST", at+"/runs", rig.OneRun, from("queued", otherParent)...).OK().Text("run_id")
	g.Open()
	b.Get(first + "/join").OK()
	b.Get(second + "/join").OK()
	if got := peer.calls(); got[len(got)-1] != "queued "+otherParent+" congo=t61rcWkgMzE" {
		t.Errorf("the agent was called for the requests %q", got)
	}
}

// TestStepCallsHaveTheIDOfTheirRequest checks that in lockstep each step's call has the client's POST for that step.
func TestStepCallsHaveTheIDOfTheirRequest(t *testing.T) {
	t.Parallel()
	peer := &origins{Handler: adaptertest.NewStepAgent(adaptertest.Plain)}
	b := rig.InFront(t, peer, rig.Lockstep)
	task := "/ap/v1/agent/tasks/" + b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
	peer.calls()
	b.Do("POST", task+"/steps", "", from("step-1", oneParent)...).OK()
	peer.want(t, "the first step", "step-1 "+oneParent+" congo=t61rcWkgMzE")
	b.Do("POST", task+"/steps", "", from("step-2", otherParent)...).OK()
	peer.want(t, "the second step", "step-2 "+otherParent+" congo=t61rcWkgMzE")
}
