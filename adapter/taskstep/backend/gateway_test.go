package backend

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// The POSTs of a run; the creation is the first.
const (
	theCreation = 1
	aStep       = 3
)

// gateway responds with 504 instead of the agent, which has executed the nth POST.
func gateway(kind adaptertest.Kind, nth int) *adaptertest.Gateway {
	return &adaptertest.Gateway{Agent: adaptertest.NewStepAgent(kind), Nth: nth, Status: http.StatusGatewayTimeout}
}

// countsOf returns the agent's counts behind a gateway.
func countsOf(g *adaptertest.Gateway) (tasks, steps, asked int) {
	agent := g.Agent.(*adaptertest.StepAgent)
	return agent.Counts().Creates, agent.Counts().Steps, len(agent.Inputs())
}

// TestGatewayAnswersForAnAgentThatActed checks that after a gateway's answer the agent is queried, as after a broken
// connection, and that nothing runs twice.
func TestGatewayAnswersForAnAgentThatActed(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		for nth, able := range map[int]bool{
			theCreation: kind != adaptertest.Bee && kind != adaptertest.Old, // drop additional_input
			aStep:       listing[kind.Family()],
		} {
			t.Run(fmt.Sprintf("%s/POST %d", kind, nth), func(t *testing.T) {
				t.Parallel()
				g := gateway(kind, nth)
				tr := runTask(t, backendAt(t, adaptertest.Serve(t, g).URL), adaptertest.NewTask(nil))
				tasks, steps, asked := countsOf(g)
				want := 3
				if able {
					mustSucceed(t, tr)
				} else {
					mustFail(t, tr, mapping.CodeOutcomeUnknown)
					want = nth - 1
				}
				if tasks != 1 || steps != want || asked != want {
					t.Errorf("%d tasks and %d steps for %d requests; want 1 and %d of each", tasks, steps, asked, want)
				}
			})
		}
	}
}

// TestGatewayThatKeepsACall checks that a call is not sent again after a gateway's answer, because the agent may still
// get it, and that the message names the gateway.
func TestGatewayThatKeepsACall(t *testing.T) {
	t.Parallel()
	for _, status := range []int{502, 504, 520, 522, 524} {
		for nth, what := range map[int]string{theCreation: "create a task", aStep: "do a step"} {
			t.Run(fmt.Sprintf("%d/POST %d", status, nth), func(t *testing.T) {
				t.Parallel()
				g := gateway(adaptertest.Plain, nth)
				g.Status, g.Keeps = status, true
				tr := runTask(t, backendAt(t, adaptertest.Serve(t, g).URL), adaptertest.NewTask(nil))
				mustFail(t, tr, mapping.CodeOutcomeUnknown)
				text := fmt.Sprintf("was told to %s, but a gateway answered %d in its place", what, status)
				if got := mapping.Classify(tr.Err).Message; !strings.Contains(got, text) {
					t.Errorf("message %q, want one with %q", got, text)
				}
				if tasks, steps, _ := countsOf(g); tasks+steps != nth-1 {
					t.Errorf("%d tasks and %d steps, want %d in all", tasks, steps, nth-1)
				}
			})
		}
	}
}

// TestAgentsOwnStatus checks that a status counts as the agent's answer unless it means that the answer is missing.
func TestAgentsOwnStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{408, 409, 500, 503, 521} {
		for _, nth := range []int{theCreation, aStep} {
			t.Run(fmt.Sprintf("%d/POST %d", status, nth), func(t *testing.T) {
				t.Parallel()
				g := gateway(adaptertest.Plain, nth)
				g.Status, g.Keeps = status, true
				tr := runTask(t, backendAt(t, adaptertest.Serve(t, g).URL), adaptertest.NewTask(nil))
				mustFail(t, tr, mapping.CodeUpstreamError)
				if got := mapping.Classify(tr.Err).Message; !strings.Contains(got, fmt.Sprintf("answered %d", status)) {
					t.Errorf("message %q", got)
				}
			})
		}
	}
}

// TestGatewayAnswersForAnUpload checks that a gateway's answer to an upload counts as a refusal, because a duplicate
// file does no harm.
func TestGatewayAnswersForAnUpload(t *testing.T) {
	t.Parallel()
	g := gateway(adaptertest.Plain, 2)
	files := adaptertest.NewFiles(map[string]string{"in/a.txt": "x"})
	tr := runTask(t, backendAt(t, adaptertest.Serve(t, g).URL), adaptertest.NewTask(files))
	mustFail(t, tr, mapping.CodeUpstreamError)
	if got := mapping.Classify(tr.Err).Message; !strings.Contains(got, "answered 504") || !strings.Contains(got, "upload of the file in/a.txt") {
		t.Errorf("message %q", got)
	}
}
