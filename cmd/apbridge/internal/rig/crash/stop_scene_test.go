package crash

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// heldAgent is an agent with a second step that waits for a gate.
type heldAgent struct {
	*rig.Gate
	*adaptertest.StepAgent
}

func heldInAStep() adaptertest.Peer {
	a := adaptertest.NewStepAgent(adaptertest.Python)
	return heldAgent{rig.NewGate(a, rig.StepPosts, 2), a}
}

func (h heldAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.Gate.ServeHTTP(w, r) }

// atWork reports whether the held step was requested.
func (h heldAgent) atWork() bool {
	select {
	case <-h.Reached:
		return true
	default:
		return false
	}
}

// playStop stops the process while an agent is working. The agent finishes its work during the shutdown.
func playStop(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	agent := peer.(heldAgent)
	d.Sure("POST", "/threads", `{"thread_id":"`+rig.CrashThread[9:]+`","if_exists":"do_nothing"}`).OK()
	run := rig.CrashThread + "/runs/" + d.Keyed(rig.CrashThread+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`, "run").Text("run_id")
	rig.Eventually(t, "the agent is at work", func() bool { return agent.atWork() || d.Get(run).Text("status") == "error" })
	d.EndAfter(func(l *rig.Life) {
		rig.Within(t, rig.CrashPatience, "the process is stopping", l.Stopping)
		agent.Open()
	})
	lost := 0
	if lostRun(d, "the run", run) {
		lost = 1
	}
	checkWork(t, agent.StepAgent, 1, lost)
	d.End()
}
