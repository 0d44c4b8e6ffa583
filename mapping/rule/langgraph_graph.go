package rule

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
)

// StartNode is the beginning of a graph: the next node of a state before the first input.
const StartNode = "__start__"

const (
	stepState = `{"type":"object","properties":{"messages":{"type":"array","items":{"type":"object"}},"files":{"type":"object"}}}`
	stepEmpty = `{"type":"object","properties":{}}`
	stepGraph = `{"nodes":[{"id":"__start__","type":"schema","data":"__start__"},{"id":"step","type":"runnable","data":{"id":["step"],"name":"step"}},{"id":"__end__","type":"schema","data":"__end__"}],` +
		`"edges":[{"source":"__start__","target":"step"},{"source":"step","target":"step","conditional":true},{"source":"step","target":"__end__","conditional":true}]}`
)

// StepGraph returns the graph of one node that represents an opaque agent, in the form of LangGraph's servers.
func StepGraph() json.RawMessage { return json.RawMessage(stepGraph) }

// StepSchemas returns the schemas of that graph.
func StepSchemas() mapping.Schemas {
	state, empty := json.RawMessage(stepState), json.RawMessage(stepEmpty)
	return mapping.Schemas{Input: state, Output: state, State: state, Config: empty, Context: empty}
}
