package rule

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAgentTasks combines an agent's tasks with the questions and the fault that the bridge knows.
func TestAgentTasks(t *testing.T) {
	t.Parallel()
	const told = `{"id":"x","name":"a","error":null,"interrupts":[{"id":"theirs"}],"state":{"next":[]}}`
	for name, c := range map[string]struct {
		ours, theirs string
		head         bool
		want         string
	}{
		"the agent tells none":          {`[{"id":"x","name":"a"}]`, ``, true, `[{"id":"x","name":"a"}]`},
		"an open question":              {`[{"id":"x","name":"a","error":null,"interrupts":[{"id":"ours"}]}]`, `[` + told + `]`, true, `[{"id":"x","name":"a","error":null,"interrupts":[{"id":"ours"}],"state":{"next":[]}}]`},
		"one that is open no more":      {`[{"id":"made up","name":"a","error":null,"interrupts":[]}]`, `[` + told + `]`, true, `[{"id":"x","name":"a","error":null,"interrupts":[],"state":{"next":[]}}]`},
		"one of an earlier state":       {`[{"id":"made up","name":"a","error":null,"interrupts":[]}]`, `[` + told + `]`, false, `[` + told + `]`},
		"another agent's question":      {`[{"id":"y","name":"step","interrupts":[{"id":"ours"}]}]`, `[` + told + `]`, false, `[` + told + `,{"id":"y","name":"step","interrupts":[{"id":"ours"}]}]`},
		"a fault that the bridge knows": {`[{"id":"made up","name":"a","error":"too slow","interrupts":[]}]`, `[` + told + `]`, false, `[{"id":"x","name":"a","error":"too slow","interrupts":[{"id":"theirs"}],"state":{"next":[]}}]`},
		"a fault that the agent tells":  {`[{"id":"made up","name":"a","error":"no","interrupts":[]}]`, `[{"id":"x","name":"a","error":"why","interrupts":[]}]`, true, `[{"id":"x","name":"a","error":"why","interrupts":[]}]`},
	} {
		var got, want any
		if json.Unmarshal(AgentTasks(asRaw(c.ours), asRaw(c.theirs), c.head), &got) != nil || json.Unmarshal(asRaw(c.want), &want) != nil {
			t.Fatalf("%s: no JSON", name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
