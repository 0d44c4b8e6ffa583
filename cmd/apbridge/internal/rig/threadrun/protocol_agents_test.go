package threadrun

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// Text answers a question of the agent that asked it. Another agent receives it as input on the same thread.
func TestProtocolInputForAnotherAgent(t *testing.T) {
	t.Parallel()
	asking := adaptertest.Serve(t, rig.Curious(1))
	graph := adaptertest.Serve(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}})
	b := rig.StartBridge(t, rig.ConfigFor(t, map[string]config.Agent{
		"agent": rig.AgentAt(asking.URL), "other": rig.AgentAt(graph.URL, rig.AsThreads),
	}))
	at, _ := atItsQuestion(b, "")
	got := command(b, at, `{"id":1,"method":"run.start","params":{"assistant_id":"other",`+rig.SaysHi+`}}`)
	if got.Text("type") != "success" {
		t.Fatalf("%s", got.Body)
	}
	b.Get(at + "/runs/" + got.Text("result.run_id") + "/join").OK()
	b.Expect(at+"/runs/"+got.Text("result.run_id"), "status", "success")
}
