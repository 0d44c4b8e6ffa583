package taskstep

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// seer ends each of its tasks with one step.
func seer() *adaptertest.StepAgent {
	return &adaptertest.StepAgent{Kind: adaptertest.Plain, Choose: func(string, map[string]string) []adaptertest.ScriptStep {
		return []adaptertest.ScriptStep{{Output: `"seen"`, Last: true}}
	}}
}

// TestAdditionalInputIsPassedOn to an agent of version 1, as the loss table says, whose run begins at once.
func TestAdditionalInputIsPassedOn(t *testing.T) {
	t.Parallel()
	agent := seer()
	b := rig.InFront(t, agent)
	step := b.Post(b.Task(`{"input":"hello","additional_input":{"a":[1,{"b":null}],"c":"d"}}`)+"/steps", "").OK()
	if lossy := step.Header.Get("X-Apbridge-Lossy"); lossy != "" {
		t.Errorf("X-Apbridge-Lossy is %q", lossy)
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
		t.Errorf("told %q with (-want +got):\n%s", told.Input, diff)
	}
}
