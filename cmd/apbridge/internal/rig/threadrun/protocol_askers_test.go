package threadrun

import (
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// askers returns a thread on which agents have run concurrently and asked questions: "agent" before "other", whose run
// is newer and ends later. "calm" asks nothing and ends last.
func askers(t *testing.T) (b *rig.Bridge, at string, asking map[string]*adaptertest.StepAgent, questions map[string]string) {
	t.Helper()
	asking = map[string]*adaptertest.StepAgent{"agent": rig.Curious(1), "other": rig.Curious(1), "calm": adaptertest.NewStepAgent(adaptertest.Plain)}
	gates, agents := map[string]*rig.Gate{}, map[string]config.Agent{}
	for name, a := range asking {
		gates[name] = rig.NewGate(a, rig.StepPosts, 1)
		agents[name] = rig.AgentAt(adaptertest.Serve(t, gates[name]).URL, func(c *config.Agent) { c.Dialect, c.AllowConcurrent = "taskstep", true })
	}
	b = rig.StartBridge(t, rig.ConfigFor(t, agents))
	at = b.Thread()
	runs := map[string]string{}
	for _, name := range []string{"agent", "other", "calm"} {
		runs[name] = b.Post(at+"/runs", `{"assistant_id":"`+name+`","multitask_strategy":"concurrent",`+rig.SaysHi+`}`).OK().Text("run_id")
		<-gates[name].Reached
	}
	questions = map[string]string{}
	for i, name := range []string{"agent", "other", "calm"} {
		gates[name].Open()
		b.Get(at + "/runs/" + runs[name] + "/join").OK()
		if open := b.Get(at + "/state").OK().List("tasks.0.interrupts"); i < 2 && len(open) > i {
			questions[name] = fmt.Sprint(rig.Dig(open[i], "id"))
		}
	}
	b.Expect(at, "status", "interrupted")
	return b, at, asking, questions
}

// An answer goes to the agent that asked, whichever agent worked on the thread last. Questions of other agents stay
// open until they are answered.
func TestProtocolAnswersTheAgentThatAsked(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{"agent": "other", "other": "agent"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, at, asking, questions := askers(t)
			for _, turn := range []string{name, left} {
				b.Expect(at, "status", "interrupted")
				got := command(b, at, fmt.Sprintf(`{"id":1,"method":"input.respond","params":{"namespace":[],"interrupt_id":%q,"response":"blue"}}`, questions[turn]))
				if got.Text("type") != "success" {
					t.Fatalf("%s", got.Body)
				}
				b.Get(at + "/runs/" + b.Get(at+"/runs").OK().Text("0.run_id") + "/join").OK()
				rig.CheckAnswered(t, asking[turn], []string{"", "", `{"input":"blue"}`})
			}
			b.Expect(at, "status", "idle")
		})
	}
}

// Questions of several agents are not answered together, because one run belongs to one agent.
func TestProtocolAnswersOneAgentAtATime(t *testing.T) {
	t.Parallel()
	b, at, asking, questions := askers(t)
	both := fmt.Sprintf(`{"id":1,"method":"input.respond","params":{"namespace":[],"responses":[{"interrupt_id":%q,"response":"x"},{"interrupt_id":%q,"response":"y"}]}}`, questions["agent"], questions["other"])
	if got := command(b, at, both); got.Text("error") != "invalid_argument" {
		t.Errorf("questions of two agents, answered at once: %s", got.Body)
	}
	rig.CheckAnswered(t, asking["agent"], []string{"", ""})
	rig.CheckAnswered(t, asking["other"], []string{"", ""})
}
