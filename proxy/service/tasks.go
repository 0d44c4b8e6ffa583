package service

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

func (s *Service) CreateTask(ctx context.Context, n adapter.TaskRequest) (mapping.Task, error) {
	if err := store.CheckIdempotencyKey(n.IdempotencyKey); err != nil {
		return mapping.Task{}, err
	}
	if n.Topic != "" {
		t, earlier, err := s.createTopicTask(ctx, adapter.TopicRef{Agent: n.Agent, ID: n.Topic}, n.Input, n.AdditionalInput, keyOfTask(ctx, n))
		if err == nil && earlier != "" {
			return s.GetTask(ctx, adapter.TaskRef{Agent: n.Agent, Topic: n.Topic, ID: earlier})
		}
		return t, err
	}
	agent, err := s.findAgent(ctx, n.Agent)
	if err != nil {
		return mapping.Task{}, err
	}
	p, now := mapping.PrincipalOf(ctx), s.store.Now()
	t := mapping.Task{
		Tenant: p.Tenant, Owner: p.ID, ID: mapping.NewID(), Agent: agent.Name, AdditionalInput: n.AdditionalInput,
		CreatedAt: now, UpdatedAt: now,
	}
	t.ThreadID = t.ID
	if n.Input != nil {
		t.Input, t.HasInput = *n.Input, true
	}
	t.AdditionalInput = rawjson.OrEmpty(t.AdditionalInput)
	th, existed, err := s.makeThread(ctx, store.ThreadCreation{Thread: taskThread(t), Task: &t, Key: keyOfTask(ctx, n)})
	mapping.AddAuditObject(ctx, "task", cmp.Or(th.ID, t.ID)) // with an Idempotency-Key it may be an earlier one
	if err == nil && existed {
		return s.GetTask(ctx, adapter.TaskRef{Agent: agent.Name, ID: th.ID})
	}
	if err == nil {
		s.stepper.Expect(t, agent)
	}
	return t, err
}

// taskThread returns the thread for a task that has its own. The thread has the task's id, also in its metadata.
func taskThread(t mapping.Task) mapping.Thread {
	meta := rule.MadeForTask(t.Agent, mapping.AssistantID(t.Agent), t.ID)
	return mapping.Thread{
		Tenant: t.Tenant, Owner: t.Owner, ID: t.ThreadID, Metadata: meta, Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
}

func (s *Service) GetTask(ctx context.Context, ref adapter.TaskRef) (mapping.Task, error) {
	t, _, err := s.readTask(ctx, ref)
	if err != nil {
		return mapping.Task{}, err
	}
	t.Artifacts, _, err = s.store.Artifacts.List(ctx, t.ThreadID, 0, 0)
	return t, err
}

func (s *Service) ListTasks(ctx context.Context, ref adapter.TaskRef, p adapter.Page) (iter.Seq2[mapping.Task, error], int, error) {
	agent, err := s.findAgent(ctx, ref.Agent)
	if err != nil {
		return nil, 0, err
	}
	if ref.Topic != "" {
		if _, _, err := s.findTopic(ctx, adapter.TopicRef{Agent: ref.Agent, ID: ref.Topic}); err != nil {
			return nil, 0, err
		}
	}
	list, total, err := s.store.Tasks.Search(ctx, store.TaskQuery{Agent: agent.Name, ThreadID: ref.Topic, Limit: p.Size, Offset: (p.Number - 1) * p.Size})
	if err != nil {
		return nil, 0, err
	}
	return those(list, func(t mapping.Task) (mapping.Task, error) {
		var err error
		t.Artifacts, _, err = s.store.Artifacts.List(ctx, t.ThreadID, 0, 0)
		return t, err
	}), total, nil
}

func (s *Service) SearchTasks(ctx context.Context, q adapter.TaskQuery) (iter.Seq2[mapping.Task, error], int, error) {
	agent, err := s.findAgent(ctx, q.Agent)
	if err != nil {
		return nil, 0, err
	}
	thread := q.ThreadID
	if q.ThreadName != "" {
		if thread, err = s.store.Threads.Named(ctx, agent.Name, q.ThreadName); err != nil {
			return nil, 0, err
		}
		if thread == "" && mapping.IsUUID(q.ThreadName) {
			thread = strings.ToLower(q.ThreadName)
		}
		thread = cmp.Or(thread, q.ThreadName)
	}
	return s.store.Tasks.Search(ctx, store.TaskQuery{
		Agent: agent.Name, ThreadID: thread, Status: q.Status, Since: q.Since, ByStatus: true, After: q.After, Limit: q.Limit,
	})
}

func (s *Service) CancelTask(ctx context.Context, ref adapter.TaskRef) (mapping.Task, error) {
	t, agent, err := s.findTask(ctx, ref)
	if err != nil {
		return t, err
	}
	if err := s.stepper.Cancel(ctx, t, agent, ref.Flavour); err != nil {
		return t, err
	}
	return s.GetTask(ctx, ref)
}

// ExecuteStep hands out the next step of a task; see stepping.Stepper.
func (s *Service) ExecuteStep(ctx context.Context, ref adapter.TaskRef, req adapter.StepRequest) (adapter.Handout, error) {
	if err := store.CheckIdempotencyKey(req.IdempotencyKey); err != nil {
		return adapter.Handout{}, err
	}
	task, agent, err := s.findTask(ctx, ref)
	if err != nil {
		return adapter.Handout{}, err
	}
	return s.stepper.Step(ctx, task, agent, ref.Flavour, req)
}

// findTask returns a task, which may come from memory: its Status may be outdated, and other processes may have handed
// out more of its steps. A task of another agent or topic counts as missing.
func (s *Service) findTask(ctx context.Context, ref adapter.TaskRef) (mapping.Task, *engine.Agent, error) {
	p := mapping.PrincipalOf(ctx)
	t, ok := s.stepper.Known(p.Tenant, ref.ID)
	if !ok || s.store.Shared() || p.Limited() {
		return s.readTask(ctx, ref)
	}
	return s.checkedTask(ctx, t, ref)
}

// readTask is like findTask, but always reads the task from the store.
func (s *Service) readTask(ctx context.Context, ref adapter.TaskRef) (mapping.Task, *engine.Agent, error) {
	if _, err := s.findAgent(ctx, ref.Agent); err != nil {
		return mapping.Task{}, nil, err
	}
	t, err := s.store.Tasks.Get(ctx, ref.ID)
	if err != nil {
		return mapping.Task{}, nil, err
	}
	return s.checkedTask(ctx, t, ref)
}

func (s *Service) checkedTask(ctx context.Context, t mapping.Task, ref adapter.TaskRef) (mapping.Task, *engine.Agent, error) {
	agent, err := s.findAgent(ctx, ref.Agent)
	if err != nil {
		return mapping.Task{}, nil, err
	}
	if t.Agent != agent.Name || ref.Topic != "" && t.ThreadID != ref.Topic {
		return mapping.Task{}, nil, mapping.Errorf(mapping.NotFound, mapping.CodeTaskNotFound, "There is no task %q of agent %s.", ref.ID, agent.Name)
	}
	return t, agent, nil
}
