package service

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// tasks makes tasks and hands out their steps.
type tasks struct{ *core }

func (s *tasks) Create(ctx context.Context, n adapter.NewTask) (mapping.Task, error) {
	if err := checkKey(n.IdempotencyKey); err != nil {
		return mapping.Task{}, err
	}
	if n.Topic != "" {
		t, earlier, err := s.topicTask(ctx, adapter.TopicRef{Agent: n.Agent, ID: n.Topic}, n.Input, n.AdditionalInput, keyOfTask(ctx, n))
		if err == nil && earlier != "" {
			return s.Get(ctx, adapter.TaskRef{Agent: n.Agent, Topic: n.Topic, ID: earlier})
		}
		return t, err
	}
	agent, err := s.Agent(ctx, n.Agent)
	if err != nil {
		return mapping.Task{}, err
	}
	p, now := mapping.PrincipalOf(ctx), s.now()
	t := mapping.Task{
		Tenant: p.Tenant, Owner: p.ID, ID: mapping.NewID(), Agent: agent.Name, AdditionalInput: n.AdditionalInput,
		CreatedAt: now, UpdatedAt: now,
	}
	t.ThreadID = t.ID
	if n.Input != nil {
		t.Input, t.HasInput = *n.Input, true
	}
	t.AdditionalInput = rawjson.OrEmpty(t.AdditionalInput)
	th, existed, err := s.createThread(ctx, store.ThreadCreation{Thread: taskThread(t), Task: &t, Key: keyOfTask(ctx, n)})
	mapping.NoteObject(ctx, "task", cmp.Or(th.ID, t.ID)) // with an Idempotency-Key it may be an earlier one
	if err == nil && existed {
		return s.Get(ctx, adapter.TaskRef{Agent: agent.Name, ID: th.ID})
	}
	if err == nil {
		s.stepper.Expect(t, agent)
	}
	return t, err
}

// taskThread is the thread a task has of its own: the same id, and a mark of where it came from.
func taskThread(t mapping.Task) mapping.Thread {
	meta := rule.MadeForTask(t.Agent, mapping.AssistantID(t.Agent), t.ID)
	return mapping.Thread{
		Tenant: t.Tenant, Owner: t.Owner, ID: t.ThreadID, Metadata: meta, Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
}

// find reads a task; one of another agent, or topic, does not exist.
func (c *core) find(ctx context.Context, ref adapter.TaskRef) (mapping.Task, *engine.Agent, error) {
	agent, err := c.Agent(ctx, ref.Agent)
	if err != nil {
		return mapping.Task{}, nil, err
	}
	p := mapping.PrincipalOf(ctx)
	t, ok := c.stepper.Known(p.Tenant, ref.ID)
	if !ok || c.st.Shared() || p.Limited() {
		if t, err = c.st.Tasks.Get(ctx, ref.ID); err != nil {
			return mapping.Task{}, nil, err
		}
	}
	if t.Agent != agent.Name || ref.Topic != "" && t.ThreadID != ref.Topic {
		return mapping.Task{}, nil, mapping.Errorf(mapping.NotFound, mapping.CodeTaskNotFound, "There is no task %q of agent %s.", ref.ID, agent.Name)
	}
	return t, agent, nil
}

func (s *tasks) Get(ctx context.Context, ref adapter.TaskRef) (mapping.Task, error) {
	t, _, err := s.find(ctx, ref)
	if err != nil {
		return mapping.Task{}, err
	}
	t.Artifacts, _, err = s.st.Artifacts.List(ctx, t.ThreadID, 0, 0)
	return t, err
}

func (s *tasks) List(ctx context.Context, ref adapter.TaskRef, p adapter.Page) (iter.Seq2[mapping.Task, error], int, error) {
	agent, err := s.Agent(ctx, ref.Agent)
	if err != nil {
		return nil, 0, err
	}
	if ref.Topic != "" {
		if _, _, err := s.findTopic(ctx, adapter.TopicRef{Agent: ref.Agent, ID: ref.Topic}); err != nil {
			return nil, 0, err
		}
	}
	list, total, err := s.st.Tasks.Search(ctx, store.TaskQuery{Agent: agent.Name, ThreadID: ref.Topic, Limit: p.Size, Offset: (p.Number - 1) * p.Size})
	if err != nil {
		return nil, 0, err
	}
	return those(list, func(t mapping.Task) (mapping.Task, error) {
		var err error
		t.Artifacts, _, err = s.st.Artifacts.List(ctx, t.ThreadID, 0, 0)
		return t, err
	}), total, nil
}

func (s *tasks) Cancel(ctx context.Context, ref adapter.TaskRef) (mapping.Task, error) {
	t, agent, err := s.find(ctx, ref)
	if err != nil {
		return t, err
	}
	if err := s.stepper.Cancel(ctx, t, agent, ref.Flavour); err != nil {
		return t, err
	}
	return s.Get(ctx, ref)
}

// Step hands out the next step of a task; see stepping.Stepper.
func (s *tasks) Step(ctx context.Context, ref adapter.TaskRef, req adapter.StepRequest) (adapter.Handout, error) {
	if err := checkKey(req.IdempotencyKey); err != nil {
		return adapter.Handout{}, err
	}
	task, agent, err := s.find(ctx, ref)
	if err != nil {
		return adapter.Handout{}, err
	}
	return s.stepper.Step(ctx, task, agent, ref.Flavour, req)
}
