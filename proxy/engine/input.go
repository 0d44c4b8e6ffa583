package engine

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
)

// InputOf reads a run's input back from what was kept with the run, so that a
// run starts the same way at once, from the queue, or after a crash.
//
// What answers a question is no input.
func InputOf(r mapping.Run) (mapping.Input, error) {
	if r.Options.Resuming {
		return mapping.ParseInput(nil, nil, "")
	}
	var k struct {
		Input    json.RawMessage `json:"input"`
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(r.Kwargs, &k); err != nil {
		return mapping.Input{}, err
	}
	if r.Options.Input != nil {
		k.Input, k.Messages = r.Options.Input, nil
	}
	return mapping.ParseInput(k.Input, k.Messages, InputBase(r))
}

// InputBase is what ids of the run's input messages are made from: the task
// for the run that starts one, the run itself for a follow-up.
func InputBase(r mapping.Run) string {
	if r.Options.FollowUp {
		return r.ID
	}
	return r.TaskID
}
