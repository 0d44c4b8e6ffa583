package taskstep

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// oneStep returns an agent that ends each task with one step.
func oneStep() *adaptertest.StepAgent {
	return &adaptertest.StepAgent{Kind: adaptertest.Plain, Choose: func(string, map[string]string) []adaptertest.ScriptStep {
		return []adaptertest.ScriptStep{{Output: `"seen"`, Last: true}}
	}}
}

// TestAgentReceivesAdditionalInput checks that an agent of version 1 receives additional_input according to the loss
// table, if its run begins at once.
func TestAgentReceivesAdditionalInput(t *testing.T) {
	t.Parallel()
	agent := oneStep()
	b := rig.InFront(t, agent)
	step := b.Post(b.Task(`{"input":"hello","additional_input":{"a":[1,{"b":null}],"c":"d"}}`)+"/steps", "").OK()
	if lossy := step.Header.Get("X-Apbridge-Unsupported"); lossy != "" {
		t.Errorf("X-Apbridge-Unsupported is %q", lossy)
	}
	var told struct {
		Input      string
		Additional map[string]any `json:"additional_input"`
	}
	if err := json.Unmarshal([]byte(agent.Creates()[0]), &told); err != nil {
		t.Fatal(err)
	}
	delete(told.Additional, "apbridge")
	if diff := cmp.Diff(map[string]any{"a": []any{1.0, map[string]any{"b": nil}}, "c": "d"}, told.Additional); diff != "" || told.Input != "hello" {
		t.Errorf("input %q, additional_input (-want +got):\n%s", told.Input, diff)
	}
}

// TestMessagesOfAdditionalInput checks that an agent of version 1 receives the messages of additional_input.input
// as text, and also unchanged, unless other members are sent in their place.
func TestMessagesOfAdditionalInput(t *testing.T) {
	t.Parallel()
	const message = `{"role":"user","name":"ann","metadata":{"a":1},"content":[{"type":"text","text":"look"},` +
		`{"type":"image_url","image_url":{"url":"https://x.example/b.png"}},{"type":"reasoning","reasoning":"hm"}]}`
	const lost = "messages.links;approximated, messages.parts;dropped, messages.name;dropped, messages.metadata;dropped"
	for name, c := range map[string]struct{ input, lossy string }{
		"messages alone":          {`{"messages":[` + message + `]}`, ""},
		"messages beside another": {`{"depth":2,"messages":[` + message + `]}`, lost},
		"words beside another":    {`{"depth":2,"messages":[{"role":"user","content":"look"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := oneStep()
			b := rig.InFront(t, agent)
			at := b.Task(`{"additional_input":{"input":` + c.input + `}}`)
			if lossy := b.Post(at+"/steps", "").OK().Header.Get("X-Apbridge-Unsupported"); lossy != c.lossy {
				t.Errorf("X-Apbridge-Unsupported is %q, want %q", lossy, c.lossy)
			}
			if told := agent.Creates()[0]; strings.Contains(c.input, "ann") && strings.Contains(told, `"reasoning":"hm"`) != (c.lossy == "") {
				t.Errorf("the agent received %s, and X-Apbridge-Unsupported should be %q", told, c.lossy)
			}
		})
	}
}
