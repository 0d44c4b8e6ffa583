package servicetest

import (
	"encoding/json"

	"github.com/apbridge/apbridge/adapter"
)

// NewRun returns a request for a run with one human message.
func NewRun(thread, agent, words string) adapter.RunRequest {
	input, _ := json.Marshal(map[string]any{"messages": []any{map[string]string{"type": "human", "content": words}}})
	kwargs, _ := json.Marshal(map[string]json.RawMessage{"input": input})
	return adapter.RunRequest{ThreadID: thread, Agent: agent, Flavour: "langgraph", Input: input, Kwargs: kwargs, HasInput: true, IfNotExists: "create"}
}
