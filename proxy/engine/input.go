package engine

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// InputOf returns a run's input as it was stored with the run, so that the run begins with the same input at once, from
// the queue and after a crash. The answer to a question is not an input, unless it is a message.
func InputOf(r *mapping.Run) (*rule.Input, error) {
	if r.Options.Resuming && !r.Options.ByMessage {
		return rule.ParseInput(nil, nil, "")
	}
	input, messages, err := StoredInput(r)
	if err != nil {
		return nil, err
	}
	return rule.ParseInput(input, messages, InputIDBase(r))
}

// StoredInput returns the input and the messages that are stored with a run, or nil.
func StoredInput(r *mapping.Run) (input, messages json.RawMessage, err error) {
	if r.Options.Input != nil {
		return r.Options.Input, nil, nil
	}
	return rule.GivenInput(r.Kwargs)
}

// inputOnce returns read, or the run's input if that is nil.
func inputOnce(r *mapping.Run, read *rule.Input) (*rule.Input, error) {
	if read != nil {
		return read, nil
	}
	return InputOf(r)
}

// InputIDBase returns the id from which the ids of the run's input messages are derived: the task for the run that starts
// one, the run itself for a follow-up or an answer.
func InputIDBase(r *mapping.Run) string {
	if r.Options.FollowUp || r.Options.ByMessage {
		return r.ID
	}
	return r.TaskID
}

func startedEvent(r *mapping.Run, at time.Time) mapping.Event {
	return mapping.Event{RunID: r.ID, Kind: mapping.KindStarted, At: at, Head: mapping.Head{Attempt: max(1, r.Attempt)}}
}

// rootEvent returns the empty state before a thread's first input. Clients fork from this state to replace the first
// message.
func rootEvent(r *mapping.Run, at time.Time) *mapping.Event {
	return &mapping.Event{
		RunID: r.ID, Kind: mapping.KindState, At: at,
		Head: mapping.Head{Name: "checkpoints", Checkpoint: newCheckpoint(r, "input", -1, []string{rule.StartNode}, at)},
	}
}

// inputEvent returns the change that a run's input, or an answer by message, makes to the state of an opaque agent's
// thread. It returns nil if there is none.
func inputEvent(r *mapping.Run, in *rule.Input, at time.Time) (*mapping.Event, error) {
	delta, err := inputDelta(r, in)
	if err != nil || delta == nil {
		return nil, err
	}
	return &mapping.Event{
		RunID: r.ID, Kind: mapping.KindInput, At: at, Data: delta,
		Head: mapping.Head{Checkpoint: newCheckpoint(r, "input", -1, []string{rule.StepNode}, at)},
	}, nil
}

func inputDelta(r *mapping.Run, read *rule.Input) (json.RawMessage, error) {
	if r.Options.Resuming && !r.Options.ByMessage {
		answer, err := rule.ParseAnswer(&r.Options)
		if err != nil {
			return nil, err
		}
		return rule.AnswerDelta(r.ID, answer), nil
	}
	in, err := inputOnce(r, read)
	if err != nil || len(in.Messages) == 0 && len(in.Files) == 0 {
		return nil, err
	}
	return in.Delta(), nil
}

func newCheckpoint(r *mapping.Run, source string, step int, next []string, at time.Time) *mapping.Checkpoint {
	return &mapping.Checkpoint{ID: mapping.NewID(), Source: source, Step: step, Next: next, RunID: r.ID, Facts: rule.RunFacts(r), CreatedAt: at}
}
