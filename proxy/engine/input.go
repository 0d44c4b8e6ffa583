package engine

import (
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
	if r.Options.Input != nil {
		return mapping.ParseInput(r.Options.Input, nil, InputBase(r))
	}
	input, err := mapping.Member(r.Kwargs, "input")
	if err != nil {
		return mapping.Input{}, err
	}
	messages, err := mapping.Member(r.Kwargs, "messages")
	if err != nil {
		return mapping.Input{}, err
	}
	return mapping.ParseInput(input, messages, InputBase(r))
}

// inputOnce is the run's input, which may have been read already.
func inputOnce(r mapping.Run, read *mapping.Input) (mapping.Input, error) {
	if read != nil {
		return *read, nil
	}
	return InputOf(r)
}

// InputBase is what ids of the run's input messages are made from: the task
// for the run that starts one, the run itself for a follow-up.
func InputBase(r mapping.Run) string {
	if r.Options.FollowUp {
		return r.ID
	}
	return r.TaskID
}
