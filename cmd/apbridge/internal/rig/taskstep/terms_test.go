package taskstep

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// Invalid values of the bridge's own members in additional_input are refused by name at the first step, before anything
// is executed.
func TestInvalidTaskTermsAreRefused(t *testing.T) {
	t.Parallel()
	agent := writer(`{}`)
	b := rig.InFront(t, agent)
	for terms, says := range map[string]string{
		`"config":"no"`:                   "config",
		`"config":{"configurable":5}`:     "config.configurable must be an object",
		`"context":[]`:                    "context",
		`"input":{"messages":5}`:          "input.messages",
		`"multitask_strategy":"odd"`:      `"additional_input.multitask_strategy \"odd\" is not supported`,
		`"multitask_strategy":"parallel"`: "allow_concurrent",
	} {
		at := b.Task(`{"input":"hi","additional_input":{` + terms + `}}`)
		if a := b.Post(at+"/steps", ""); a.Status != 422 || !strings.Contains(string(a.Body), says) {
			t.Errorf("%s: %d %s, want 422 and %q", terms, a.Status, a.Body, says)
		}
	}
	if n := agent.Work(); n != 0 {
		t.Errorf("the agent was called %d times", n)
	}
}
