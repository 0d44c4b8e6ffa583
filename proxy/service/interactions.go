package service

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/service/stateupdate"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/idempotency"
)

// interactions are the messages of a topic.
type interactions struct {
	sayings
	conversations
}

// sayings take what is said in topics.
type sayings struct {
	topics   topicFinder
	finder   taskFinder
	onTopics topicTasks
	requests *idempotency.Table
	tasks    *store.Tasks
	runs     *store.Runs
	stepper  *stepping.Stepper
	updater  *stateupdate.Updater
}

func (s sayings) Create(ctx context.Context, n adapter.NewInteraction) (rule.Interaction, error) {
	said, err := s.say(ctx, n)
	if err == nil {
		mapping.NoteObject(ctx, "interaction", said.ID)
	}
	return said, err
}

func (s sayings) say(ctx context.Context, n adapter.NewInteraction) (rule.Interaction, error) {
	if err := idempotency.Check(n.IdempotencyKey); err != nil {
		return rule.Interaction{}, err
	}
	_, t, err := s.topics.find(ctx, n.Ref)
	if err != nil {
		return rule.Interaction{}, err
	}
	if said, ok, err := s.again(ctx, n); ok || err != nil {
		return said, err
	}
	if n.Role != rule.RoleUser && n.Role != "" || n.Derive != nil && !*n.Derive {
		return s.add(ctx, t, n)
	}
	if !says(n) {
		return rule.Interaction{}, errNothingSaid()
	}
	if n.Derive == nil && len(t.Interrupts) > 0 {
		if said, done, err := s.answer(ctx, t, n); done || err != nil {
			return said, err
		}
	}
	task, earlier, err := s.onTopics.create(ctx, n.Ref, n.Input, n.AdditionalInput, keyOfInteraction(n))
	if err == nil && earlier != "" {
		return s.made(ctx, n, earlier)
	}
	return rule.InteractionOf(task), err
}

// again finds what the same request has said before.
func (s sayings) again(ctx context.Context, n adapter.NewInteraction) (said rule.Interaction, ok bool, err error) {
	made, ok, err := s.requests.Remembered(ctx, keyOfInteraction(n))
	if err != nil || !ok {
		return said, false, err
	}
	said, err = s.made(ctx, n, made)
	return said, true, err
}

// made tells of an interaction by what it has made: a task, the run that an answer began, or nothing but itself.
func (s sayings) made(ctx context.Context, n adapter.NewInteraction, id string) (rule.Interaction, error) {
	none := func(err error) bool { return err != nil && mapping.Classify(err).Class == mapping.NotFound }
	task, err := s.tasks.Get(ctx, id)
	if !none(err) {
		return rule.InteractionOf(task), err
	}
	run, err := s.runs.Get(ctx, "", id)
	switch {
	case err == nil:
		return answered(n, run), nil
	case !none(err):
		return rule.Interaction{}, err
	}
	return spoken(n, id), nil
}

// answered is the interaction that answered a question with a run.
func answered(n adapter.NewInteraction, run *mapping.Run) rule.Interaction {
	return rule.Interaction{
		ID: mapping.MessageID(run.ID, "answer"), TopicID: run.ThreadID, TaskID: run.TaskID, Role: rule.RoleUser,
		Input: n.Input, AdditionalInput: n.AdditionalInput, CreatedAt: run.CreatedAt,
	}
}

// spoken is an interaction that no task comes of.
func spoken(n adapter.NewInteraction, id string) rule.Interaction {
	said := rule.Interaction{ID: id, TopicID: n.Ref.ID, Role: n.Role, Input: n.Input, AdditionalInput: n.AdditionalInput}
	switch said.Role {
	case "":
		said.Role = rule.RoleUser
	case rule.RoleAgent:
		said.Input, said.Output, said.AdditionalInput, said.AdditionalOutput = nil, n.Input, nil, n.AdditionalInput
	}
	said.CreatedAt = rule.MessageTime(said.ID)
	return said
}

// says reports whether there is anything that an agent could be told: words, an input for its graph, or a spelled-out
// answer.
func says(n adapter.NewInteraction) bool {
	extra := rule.ReadTaskExtra(n.AdditionalInput)
	return n.Input != nil && *n.Input != "" || len(extra.Input) > 0 || len(extra.Resume) > 0
}

func errNothingSaid() error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "input must be a text that is not empty.")
}

// add appends words to the topic's state; no task comes of it.
func (s sayings) add(ctx context.Context, t mapping.Thread, n adapter.NewInteraction) (rule.Interaction, error) {
	if n.Input == nil || *n.Input == "" {
		return rule.Interaction{}, errNothingSaid()
	}
	said := spoken(n, mapping.NewID())
	message := rule.TopicMessage(said.ID, said.Role, *n.Input, n.AdditionalInput)
	delta, err := json.Marshal(map[string][]json.RawMessage{"messages": {message}})
	if err != nil {
		return said, err
	}
	_, err = s.updater.Update(ctx, t.ID, adapter.StateUpdate{Values: delta}, stateupdate.Note{Key: keyOfInteraction(n), Makes: said.ID})
	if err != nil && mapping.Classify(err).Code == idempotency.CodeRepeated {
		said, _, err = s.again(ctx, n)
	}
	return said, errTopicBusy(err)
}

// errTopicBusy says in the words of topics that the state cannot be changed now.
func errTopicBusy(err error) error {
	known := mapping.Classify(err)
	if err == nil || known.Class != mapping.Conflict {
		return err
	}
	e := mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy,
		"A task of this topic has been begun and has not ended. Ask for its steps up to the last one, or cancel it, and say this again.")
	e.Detail = known.Detail
	return e
}

// answer gives the words to the task that asked. done is false when no task of this agent waits for them.
func (s sayings) answer(ctx context.Context, t mapping.Thread, n adapter.NewInteraction) (said rule.Interaction, done bool, err error) {
	asked, err := s.runThatAsked(ctx, t, n.Ref.Agent)
	if err != nil || asked.Status != mapping.RunInterrupted {
		return said, false, err
	}
	ref := adapter.TaskRef{Agent: n.Ref.Agent, Topic: t.ID, ID: asked.TaskID}
	task, agent, err := s.finder.find(ctx, ref)
	if err != nil {
		return said, false, err
	}
	lock, err := s.stepper.Acquire(ctx, task, agent, n.Ref.Flavour)
	if err != nil {
		return said, false, err
	}
	defer lock.Release()
	if said, done, err := s.again(ctx, n); done || err != nil { // while we waited for the lock
		return said, done, err
	}
	run, ok, err := lock.Answer(ctx, n.Input, n.AdditionalInput, keyOfInteraction(n))
	if !ok || err != nil {
		return said, false, err
	}
	return answered(n, &run), true, nil
}

// runThatAsked returns the run of an agent that asked the newest of the open questions that it may be answered; else
// the thread's newest run.
func (s sayings) runThatAsked(ctx context.Context, t mapping.Thread, agent string) (mapping.Run, error) {
	for _, q := range slices.Backward(t.Interrupts) {
		if q.Run == "" {
			continue
		}
		r, err := s.runs.Get(ctx, t.ID, q.Run)
		switch {
		case err == nil && r.Agent == agent:
			return *r, nil
		case err != nil && !notFound(err):
			return mapping.Run{}, err
		}
	}
	last, err := s.runs.List(ctx, mapping.RunQuery{ThreadID: t.ID, Limit: 1})
	if err != nil || len(last) == 0 {
		return mapping.Run{}, err
	}
	return last[0], nil
}
