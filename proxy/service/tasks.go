package service

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// tasks makes tasks and hands out their steps.
type tasks struct {
	directory *directory.Directory
	finder    taskFinder
	topics    topicFinder
	onTopics  topicTasks
	maker     threadMaker
	table     *store.Tasks
	artifacts *artifact.Table
	stepper   *stepping.Stepper
	now       func() time.Time // store.Store.Now
}

func (s *tasks) Create(ctx context.Context, n adapter.NewTask) (mapping.Task, error) {
	if err := store.CheckIdempotencyKey(n.IdempotencyKey); err != nil {
		return mapping.Task{}, err
	}
	if n.Topic != "" {
		t, earlier, err := s.onTopics.create(ctx, adapter.TopicRef{Agent: n.Agent, ID: n.Topic}, n.Input, n.AdditionalInput, keyOfTask(ctx, n))
		if err == nil && earlier != "" {
			return s.Get(ctx, adapter.TaskRef{Agent: n.Agent, Topic: n.Topic, ID: earlier})
		}
		return t, err
	}
	agent, err := s.directory.Agent(ctx, n.Agent)
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
	th, existed, err := s.maker.create(ctx, store.ThreadCreation{Thread: taskThread(t), Task: &t, Key: keyOfTask(ctx, n)})
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

func (s *tasks) Get(ctx context.Context, ref adapter.TaskRef) (mapping.Task, error) {
	t, _, err := s.finder.find(ctx, ref)
	if err != nil {
		return mapping.Task{}, err
	}
	t.Artifacts, _, err = s.artifacts.List(ctx, t.ThreadID, 0, 0)
	return t, err
}

func (s *tasks) List(ctx context.Context, ref adapter.TaskRef, p adapter.Page) (iter.Seq2[mapping.Task, error], int, error) {
	agent, err := s.directory.Agent(ctx, ref.Agent)
	if err != nil {
		return nil, 0, err
	}
	if ref.Topic != "" {
		if _, _, err := s.topics.find(ctx, adapter.TopicRef{Agent: ref.Agent, ID: ref.Topic}); err != nil {
			return nil, 0, err
		}
	}
	list, total, err := s.table.Search(ctx, store.TaskQuery{Agent: agent.Name, ThreadID: ref.Topic, Limit: p.Size, Offset: (p.Number - 1) * p.Size})
	if err != nil {
		return nil, 0, err
	}
	return those(list, func(t mapping.Task) (mapping.Task, error) {
		var err error
		t.Artifacts, _, err = s.artifacts.List(ctx, t.ThreadID, 0, 0)
		return t, err
	}), total, nil
}

func (s *tasks) Cancel(ctx context.Context, ref adapter.TaskRef) (mapping.Task, error) {
	t, agent, err := s.finder.find(ctx, ref)
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
	if err := store.CheckIdempotencyKey(req.IdempotencyKey); err != nil {
		return adapter.Handout{}, err
	}
	task, agent, err := s.finder.find(ctx, ref)
	if err != nil {
		return adapter.Handout{}, err
	}
	return s.stepper.Step(ctx, task, agent, ref.Flavour, req)
}
