package threadrun

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestForkUsesTheUpstreamCheckpoint checks that a run from an older checkpoint starts at the same checkpoint of the
// agent's thread. If the agent's thread no longer exists, a new one gets the bridge's state.
func TestForkUsesTheUpstreamCheckpoint(t *testing.T) {
	t.Parallel()
	g := rig.NewMemoryGraph()
	b := rig.InFront(t, g)
	at := b.Thread()
	say := func(words, more string) {
		t.Helper()
		b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+more+`"input":{"messages":[{"role":"user","content":"`+words+`"}]}}`).OK()
	}
	say("first", "")
	b.Post(at+"/state", `{"values":{"messages":[{"type":"human","content":"noted"}]},"as_node":"agent"}`).OK() // the agent assigns the id
	old := b.Get(at + "/state").OK().Text("checkpoint.checkpoint_id")
	say("second", "")
	fork := `"checkpoint_id":"` + old + `",`

	say("third", fork)
	if !strings.Contains(lastStart(g), `"checkpoint_id"`) {
		t.Errorf("the fork does not name the upstream checkpoint: %s", lastStart(g))
	}
	checkFork(t, b, at, "third")

	g.Drop()
	say("fourth", "")
	say("fifth", fork)
	if strings.Contains(lastStart(g), `"checkpoint_id"`) {
		t.Errorf("a checkpoint that the new thread does not have was sent: %s", lastStart(g))
	}
	checkFork(t, b, at, "fifth")
}

// TestRunContinuesFromTheMiddleOfAnother checks that without input the agent continues after that checkpoint, as when a
// page requests another answer. Streams do not contain the agent's id of the checkpoint, so its history is read.
func TestRunContinuesFromTheMiddleOfAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*rig.MemoryGraph)
		want   string
	}{
		"the agent has the checkpoint": {want: "first one two three"},
		"its history is not to be had": {
			change: func(g *rig.MemoryGraph) { g.Canned = map[string]*adaptertest.Canned{rig.HistoryRoute: {Status: 404}} },
			want:   "first one one two three", // of a new thread with the stored state
		},
		"it has another state there": {
			change: func(g *rig.MemoryGraph) {
				g.Canned = map[string]*adaptertest.Canned{rig.HistoryRoute: {Status: 200, Type: "application/json", Body: otherState}}
			},
			want: "first one one two three",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := rig.NewMemoryGraph()
			if c.change != nil {
				c.change(g)
			}
			b := rig.InFront(t, g)
			at := b.Thread()
			b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"first"}]}}`).OK()
			middle := checkpointBefore(t, b, at, "two")
			b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":null,"checkpoint_id":"`+middle+`"}`).OK()
			if got := contents(b.Get(at + "/state").OK()); got != c.want {
				t.Errorf("the state has %q, want %q; the agent received %s", got, c.want, lastStart(g))
			}
		})
	}
}

// otherState is a checkpoint that a server returns for any request.
const otherState = `[{"values":{"messages":[]},"next":["two"],"metadata":{"run_id":"01a1fc7d-bb54-710b-addd-000000000001","step":1,"source":"loop"},"checkpoint":{"checkpoint_id":"other"}}]`

// checkpointBefore returns the checkpoint whose next node is this one.
func checkpointBefore(t *testing.T, b *rig.Bridge, at, node string) string {
	t.Helper()
	for _, point := range b.Get(at + "/history").OK().List("") {
		if next, _ := rig.Dig(point, "next").([]any); len(next) == 1 && next[0] == node {
			return rig.Dig(point, "checkpoint.checkpoint_id").(string)
		}
	}
	t.Fatalf("no checkpoint before %s", node)
	return ""
}

// contents returns the texts of a state's messages.
func contents(state rig.Answer) string {
	var texts []string
	for _, m := range state.List("values.messages") {
		texts = append(texts, rig.Dig(m, "content").(string))
	}
	return strings.Join(texts, " ")
}

// lastStart returns the newest request for a run to the agent.
func lastStart(g *rig.MemoryGraph) string {
	all := g.Bodies(rig.StartRoute)
	var asked map[string]json.RawMessage
	_ = json.Unmarshal(all[len(all)-1], &asked)
	delete(asked, "base") // a member of the scripted agent
	text, _ := json.Marshal(asked)
	return string(text)
}

// checkFork checks that the state has the messages of the first run and of the fork.
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
