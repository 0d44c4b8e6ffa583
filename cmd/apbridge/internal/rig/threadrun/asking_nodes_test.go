package threadrun

import (
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestEachQuestionHasItsNode checks that the state names the node of each open question if agents of both kinds wait on
// one thread. Answered questions are no longer in the state.
func TestEachQuestionHasItsNode(t *testing.T) {
	t.Parallel()
	graph, steps := rig.Asking(adaptertest.ChatPlay()), rig.Curious(1)
	b := rig.StartBridge(t, rig.ConfigFor(t, map[string]config.Agent{
		"agent": rig.AgentAt(adaptertest.Serve(t, graph).URL, func(c *config.Agent) { c.Dialect, c.AllowConcurrent = "threadrun", true }),
		"other": rig.AgentAt(adaptertest.Serve(t, steps).URL, func(c *config.Agent) { c.Dialect, c.AllowConcurrent = "taskstep", true }),
	}))
	at, asked := atItsQuestion(b, "")
	checkTasks(t, b, at, "ask:"+asked)

	b.Post(at+"/runs/wait", `{"assistant_id":"other","multitask_strategy":"concurrent",`+rig.SaysHi+`}`).OK()
	further := rig.TextOf(b.Get(at + "/state").OK().At("interrupts.1.id"))
	checkTasks(t, b, at, "ask:"+asked, "step:"+further)

	b.Post(at+"/runs/wait", `{"assistant_id":"other","command":{"resume":{"`+further+`":"blue"}}}`).OK()
	checkTasks(t, b, at, "ask:"+asked)
	b.Post(at+"/runs/wait", `{"assistant_id":"agent","command":{"resume":{"`+asked+`":"blue"}}}`).OK()
	checkTasks(t, b, at)
}

// checkTasks checks that the state and the history have one state task for each "node:question".
func checkTasks(t *testing.T, b *rig.Bridge, at string, want ...string) {
	t.Helper()
	for name, state := range map[string]any{
		"state": b.Get(at + "/state").OK().At(""), "history": b.Get(at + "/history?limit=1").OK().At("0"),
	} {
		var got, nodes []string
		for _, task := range rig.Dig(state, "tasks").([]any) {
			nodes = append(nodes, rig.TextOf(rig.Dig(task, "name")))
			for _, q := range rig.Dig(task, "interrupts").([]any) {
				got = append(got, nodes[len(nodes)-1]+":"+rig.TextOf(rig.Dig(q, "id")))
			}
		}
		if next := fmt.Sprint(rig.Dig(state, "next")); fmt.Sprint(got) != fmt.Sprint(want) || next != fmt.Sprint(nodes) {
			t.Errorf("%s: tasks %q of nodes %q, next %s, want %q", name, got, nodes, next, want)
		}
	}
}
