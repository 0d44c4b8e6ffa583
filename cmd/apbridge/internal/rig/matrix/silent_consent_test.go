package matrix

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// TestStepRequestWithoutTextApprovesACommand checks that a request for the next step without text approves a command,
// or gives the answer in stepping.auto_answer (docs/approval.md).
func TestStepRequestWithoutTextApprovesACommand(t *testing.T) {
	t.Parallel()
	for stepping, want := range map[string]string{"": "", ", stepping: {auto_answer: 'No, ask a person first.'}": `{"input":"No, ask a person first."}`} {
		for _, silence := range []string{"", `{"input":""}`, `{"input":null}`} {
			agent := &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
				{Output: `"I will list."`, Additional: `{"use_tool":{"name":"ls","arguments":{}}}`}, {Output: `"done"`, Last: true},
			}}
			r := rig.Configured(t, "agents: {a: {url: $A, approval: ask"+stepping+"}}", map[string]http.Handler{"a": agent})
			task := r.Task(`{"input":"hi"}`)
			r.Do("POST", task+"/steps", "").Want(t, 200, "I will list.")
			r.Do("POST", task+"/steps", silence).Want(t, 200, "done")
			if diff := cmp.Diff([]string{"", want}, agent.Inputs()); diff != "" {
				t.Errorf("%s after %q (-want +got):\n%s", stepping, silence, diff)
			}
		}
	}
}
