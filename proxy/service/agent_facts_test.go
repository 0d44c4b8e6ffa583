package service

import (
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/engine"
)

// Another server may now use the same name.
func TestReconnectedAgentIsQueriedAgain(t *testing.T) {
	t.Parallel()
	var a factAnswers
	before, after := engine.NewAgent("a", config.DefaultAgent(), nil), engine.NewAgent("a", config.DefaultAgent(), nil)
	has := func(agent *engine.Agent, what string, want bool) {
		t.Helper()
		if got := a.get(agent, what) == factAnswered; got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	has(before, "schemas", false)
	a.set(before, "schemas", factAnswered)
	has(before, "schemas", true)
	has(before, "graph", false)
	has(after, "schemas", false)
	a.set(after, "graph", factAnswered)
	has(after, "schemas", false)
	has(after, "graph", true)
}
