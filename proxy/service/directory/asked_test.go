package directory

import (
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/engine"
)

// TestAnAgentThatIsDialledAnewIsAskedAgain: another server may answer by its name.
func TestAnAgentThatIsDialledAnewIsAskedAgain(t *testing.T) {
	t.Parallel()
	var a asked
	before, after := engine.NewAgent("a", config.DefaultAgent(), nil), engine.NewAgent("a", config.DefaultAgent(), nil)
	has := func(agent *engine.Agent, what string, want bool) {
		t.Helper()
		if a.has(agent, what) != want {
			t.Errorf("%s: %v", what, !want)
		}
	}
	has(before, "schemas", false)
	a.set(before, "schemas")
	has(before, "schemas", true)
	has(before, "graph", false)
	has(after, "schemas", false)
	a.set(after, "graph")
	has(after, "schemas", false)
	has(after, "graph", true)
}
