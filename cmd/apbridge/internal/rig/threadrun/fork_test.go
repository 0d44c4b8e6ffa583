package threadrun

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestForksGoToTheThreadThatKnowsTheirCheckpoint: a run that begins at an older
// checkpoint does so on the agent's side, too, as long as the agent's thread is the one
// that the checkpoint is of. Is that thread gone, the bridge gives its state to the next.
func TestForksGoToTheThreadThatKnowsTheirCheckpoint(t *testing.T) {
	t.Parallel()
	g := rig.NewMemoryGraph()
	b := rig.InFront(t, g)
	at := b.Thread()
	say := func(words, more string) {
		t.Helper()
		b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+more+`"input":{"messages":[{"role":"user","content":"`+words+`"}]}}`).OK()
	}
	say("first", "")
	b.Post(at+"/state", `{"values":{"messages":[{"type":"human","content":"noted"}]},"as_node":"agent"}`).OK() // which the agent names
	old := b.Get(at + "/state").OK().Text("checkpoint.checkpoint_id")
	say("second", "")
	fork := `"checkpoint_id":"` + old + `",`

	say("third", fork)
	if !strings.Contains(lastStart(g), `"checkpoint_id"`) {
		t.Errorf("the fork was not made upstream: %s", lastStart(g))
	}
	checkFork(t, b, at, "third")

	g.Drop()
	say("fourth", "")
	say("fifth", fork)
	if strings.Contains(lastStart(g), `"checkpoint_id"`) {
		t.Errorf("the fresh thread knows of no such checkpoint: %s", lastStart(g))
	}
	checkFork(t, b, at, "fifth")
}

// lastStart is how the agent was last asked for a run.
func lastStart(g *rig.MemoryGraph) string {
	all := g.Bodies(rig.StartRoute)
	var asked map[string]json.RawMessage
	_ = json.Unmarshal(all[len(all)-1], &asked)
	delete(asked, "base") // of the script
	text, _ := json.Marshal(asked)
	return string(text)
}

// checkFork: the state is the first run's and that of the fork.
func checkFork(t *testing.T, b *rig.Bridge, at, words string) {
	t.Helper()
	state := b.Get(at + "/state").OK()
	var humans []string
	for _, m := range state.List("values.messages") {
		if rig.Dig(m, "type") == "human" {
			humans = append(humans, rig.Dig(m, "content").(string))
		}
	}
	if got := strings.Join(humans, " "); got != "first noted "+words {
		t.Errorf("the state has %q: %s", got, state.Body)
	}
}
