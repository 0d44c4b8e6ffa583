package service

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/service/stateupdate"
	"github.com/apbridge/apbridge/proxy/store"
)

func (s *Service) Say(ctx context.Context, n adapter.InteractionRequest) (rule.Interaction, error) {
	said, err := s.say(ctx, n)
	if err == nil {
		mapping.AddAuditObject(ctx, "interaction", said.ID)
	}
	return said, err
}

func (s *Service) say(ctx context.Context, n adapter.InteractionRequest) (rule.Interaction, error) {
	if err := store.CheckIdempotencyKey(n.IdempotencyKey); err != nil {
		return rule.Interaction{}, err
	}
	_, t, err := s.findTopic(ctx, n.Ref)
	if err != nil {
		return rule.Interaction{}, err
	}
	if said, ok, err := s.repeatedInteraction(ctx, n); ok || err != nil {
		return said, err
	}
	if n.Role != rule.RoleUser && n.Role != "" || n.Derive != nil && !*n.Derive {
		return s.addMessage(ctx, t, n)
	}
	if !says(n) {
		return rule.Interaction{}, errNothingSaid()
	}
	if n.Derive == nil && len(t.Interrupts) > 0 {
		if said, done, err := s.answerOnTopic(ctx, t, n); done || err != nil {
			return said, err
		}
	}
	task, earlier, err := s.createTopicTask(ctx, n.Ref, n.Input, n.AdditionalInput, keyOfInteraction(n))
	if err == nil && earlier != "" {
		return s.interactionMade(ctx, n, earlier)
	}
	return rule.InteractionOf(task), err
}

// repeatedInteraction returns the interaction that an earlier, identical request created.
func (s *Service) repeatedInteraction(ctx context.Context, n adapter.InteractionRequest) (said rule.Interaction, ok bool, err error) {
	made, ok, err := s.store.Requests.Remembered(ctx, keyOfInteraction(n))
	if err != nil || !ok {
		return said, false, err
	}
	said, err = s.interactionMade(ctx, n, made)
	return said, true, err
}

// interactionMade returns an interaction by the id of the object that it created (a task, or the run of an answer) or
// by its own id.
func (s *Service) interactionMade(ctx context.Context, n adapter.InteractionRequest, id string) (rule.Interaction, error) {
	task, err := s.store.Tasks.Get(ctx, id)
	if !notFound(err) {
		return rule.InteractionOf(task), err
	}
	run, err := s.store.Runs.Get(ctx, "", id)
	switch {
	case err == nil:
		return answered(n, run), nil
	case !notFound(err):
		return rule.Interaction{}, err
	}
	return spoken(n, id), nil
}

// answered returns the interaction that answered a question with a run.
func answered(n adapter.InteractionRequest, run *mapping.Run) rule.Interaction {
	return rule.Interaction{
		ID: mapping.MessageID(run.ID, "answer"), TopicID: run.ThreadID, TaskID: run.TaskID, Role: rule.RoleUser,
		Input: n.Input, AdditionalInput: n.AdditionalInput, CreatedAt: run.CreatedAt,
	}
}

// spoken returns an interaction that created no task.
func spoken(n adapter.InteractionRequest, id string) rule.Interaction {
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

// says reports whether the interaction has content for an agent: text, an input for its graph, or an explicit answer.
func says(n adapter.InteractionRequest) bool {
	extra := rule.ReadTaskExtra(n.AdditionalInput)
	return n.Input != nil && *n.Input != "" || len(extra.Input) > 0 || len(extra.Resume) > 0
}

func errNothingSaid() error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "input must be a non-empty string.")
}

// addMessage appends a message to the topic's state without creating a task.
func (s *Service) addMessage(ctx context.Context, t mapping.Thread, n adapter.InteractionRequest) (rule.Interaction, error) {
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
	if err != nil && mapping.Classify(err).Code == store.CodeRepeated {
		said, _, err = s.repeatedInteraction(ctx, n)
	}
	return said, errTopicBusy(err)
}

// errTopicBusy replaces the message of a busy thread with one about topics.
func errTopicBusy(err error) error {
	known := mapping.Classify(err)
	if err == nil || known.Class != mapping.Conflict {
		return err
	}
	e := mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy,
		"A task of this topic has not ended yet. Request its steps up to the last one, or cancel it, and then send this message again.")
	e.Detail = known.Detail
	return e
}

// answerOnTopic passes the answer to the task that asked. done is false if no task of this agent waits for one.
func (s *Service) answerOnTopic(ctx context.Context, t mapping.Thread, n adapter.InteractionRequest) (said rule.Interaction, done bool, err error) {
	asked, err := s.runThatAsked(ctx, t, n.Ref.Agent)
	if err != nil || asked.Status != mapping.RunInterrupted {
		return said, false, err
	}
	ref := adapter.TaskRef{Agent: n.Ref.Agent, Topic: t.ID, ID: asked.TaskID}
	task, agent, err := s.findTask(ctx, ref)
	if err != nil {
		return said, false, err
	}
	lock, err := s.stepper.Acquire(ctx, task, agent, n.Ref.Flavour)
	if err != nil {
		return said, false, err
	}
	defer lock.Release()
	if said, done, err := s.repeatedInteraction(ctx, n); done || err != nil { // created while waiting for the lock
		return said, done, err
	}
	run, ok, err := lock.Answer(ctx, n.Input, n.AdditionalInput, keyOfInteraction(n))
	if !ok || err != nil {
		return said, false, err
	}
	return answered(n, &run), true, nil
}

// runThatAsked returns the agent's run that asked the newest open question. If there is none, it returns the thread's
// newest run.
func (s *Service) runThatAsked(ctx context.Context, t mapping.Thread, agent string) (mapping.Run, error) {
	for _, q := range slices.Backward(t.Interrupts) {
		r, err := s.store.Runs.Get(ctx, t.ID, q.Run)
		switch {
		case err == nil && r.Agent == agent:
			return *r, nil
		case err != nil && !notFound(err):
			return mapping.Run{}, err
		}
	}
	last, err := s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: t.ID, Limit: 1})
	if err != nil || len(last) == 0 {
		return mapping.Run{}, err
	}
	return last[0], nil
}

func (s *Service) ListInteractions(ctx context.Context, ref adapter.TopicRef, p adapter.Page) ([]rule.Interaction, int, error) {
	all, err := s.allInteractions(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	list := adapter.PageOf(all, (p.Number-1)*p.Size, p.Size)
	return list, len(all), s.withInteractionFiles(ctx, ref.ID, list)
}

func (s *Service) GetInteraction(ctx context.Context, ref adapter.TopicRef, id string) (rule.Interaction, error) {
	all, err := s.allInteractions(ctx, ref)
	if err != nil {
		return rule.Interaction{}, err
	}
	i := slices.IndexFunc(all, func(said rule.Interaction) bool { return said.ID == id })
	if i < 0 {
		return rule.Interaction{}, mapping.Errorf(mapping.NotFound, "interaction_not_found", "Topic %[2]q has no interaction %[1]q.", id, ref.ID)
	}
	return all[i], s.withInteractionFiles(ctx, ref.ID, all[i:i+1])
}

// allInteractions reads the whole conversation of a topic.
func (s *Service) allInteractions(ctx context.Context, ref adapter.TopicRef) ([]rule.Interaction, error) {
	_, t, err := s.findTopic(ctx, ref)
	if err != nil {
		return nil, err
	}
	c := rule.Conversation{TopicID: t.ID}
	if c.Tasks, _, err = s.store.Tasks.List(ctx, store.TaskQuery{ThreadID: t.ID}); err != nil {
		return nil, err
	}
	if c.Runs, err = s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: t.ID, OldestFirst: true}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.Runs, byStart)
	c.Told = make([][]*state.Entry, len(c.Runs))
	for i, r := range c.Runs {
		c.Told[i], err = s.log.Read(ctx, &r, 0)
		if err != nil && mapping.Classify(err).Class != mapping.NotFound { // it may have been rolled back
			return nil, err
		}
	}
	fold, err := s.newestState(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	c.Messages = fold.Messages()
	return c.Interactions(), nil
}

// byStart orders runs by start time. Runs that have not started come last, in the order of creation.
func byStart(a, b mapping.Run) int {
	if a.StartedAt.IsZero() || b.StartedAt.IsZero() {
		return cmp.Compare(later(a), later(b))
	}
	return a.StartedAt.Compare(b.StartedAt)
}

func later(r mapping.Run) int {
	if r.StartedAt.IsZero() {
		return 1
	}
	return 0
}

// withInteractionFiles fills in the artifacts of interactions, which carry only their ids.
func (s *Service) withInteractionFiles(ctx context.Context, topicID string, list []rule.Interaction) error {
	steps := make([]mapping.Step, len(list))
	for i := range list {
		steps[i].Artifacts = list[i].Artifacts
	}
	err := s.stepper.WithArtifacts(ctx, topicID, steps)
	for i := range list {
		list[i].Artifacts = steps[i].Artifacts
	}
	return err
}
