package engine

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// InputOf reads a run's input back from what was kept with the run, so that a run starts the same way at once, from the
// queue, or after a crash.
//
// The answer to a question is no input, unless it is a message.
func InputOf(r *mapping.Run) (*rule.Input, error) {
	if r.Options.Resuming && !r.Options.ByMessage {
		return rule.ParseInput(nil, nil, "")
	}
	input, messages, err := GivenTo(r)
	if err != nil {
		return nil, err
	}
	return rule.ParseInput(input, messages, InputBase(r))
}

// GivenTo returns what InputOf reads: the input and the messages kept with the run, nil for none.
func GivenTo(r *mapping.Run) (input, messages json.RawMessage, err error) {
	if r.Options.Input != nil {
		return r.Options.Input, nil, nil
	}
	return rule.GivenInput(r.Kwargs)
}

// inputOnce is the run's input, which may have been read already.
func inputOnce(r *mapping.Run, read *rule.Input) (*rule.Input, error) {
	if read != nil {
		return read, nil
	}
	return InputOf(r)
}

// InputBase returns the id that ids of the run's input messages are made from: the task for the run that starts one,
// the run itself for a follow-up or an answer.
func InputBase(r *mapping.Run) string {
	if r.Options.FollowUp || r.Options.ByMessage {
		return r.ID
	}
	return r.TaskID
}
