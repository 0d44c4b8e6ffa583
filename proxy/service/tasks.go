package service

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
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
		t, earlier, err := s.topicTask(ctx, adapter.TopicRef{Agent: n.Agent, ID: n.Topic}, n.Input, n.AdditionalInput, keyOfTask(n))
		if err == nil && earlier != "" {
			return s.Get(ctx, adapter.TaskRef{Agent: n.Agent, Topic: n.Topic, ID: earlier})
		}
		return t, err
	}
	agent, err := s.agent(ctx, n.Agent)
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
	t.AdditionalInput = object(t.AdditionalInput)
	th, existed, err := s.st.CreateThread(ctx, store.NewThread{Thread: taskThread(t), Task: &t, Key: keyOfTask(n)})
	if err == nil && existed {
		return s.Get(ctx, adapter.TaskRef{Agent: agent.Name, ID: th.ID})
	}
	if err == nil {
		s.expect(t, agent)
	}
	return t, err
}

// taskThread is the thread a task has of its own: the same id, and a mark of
// where it came from.
func taskThread(t mapping.Task) mapping.Thread {
	meta := fmt.Sprintf(`{"graph_id":%q,"assistant_id":%q,"apbridge":{"task_id":%q}}`, t.Agent, mapping.AssistantID(t.Agent), t.ID)
	return mapping.Thread{
		Tenant: t.Tenant, Owner: t.Owner, ID: t.ThreadID, Metadata: json.RawMessage(meta), Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
}

// find reads a task; one of another agent, or topic, does not exist.
func (c *core) find(ctx context.Context, ref adapter.TaskRef) (mapping.Task, *engine.Agent, error) {
	agent, err := c.agent(ctx, ref.Agent)
	if err != nil {
		return mapping.Task{}, nil, err
	}
	var t mapping.Task
	p := mapping.PrincipalOf(ctx)
	if s, ok := c.sessions.get(sessionKey{p.Tenant, ref.ID}); ok && !c.st.Shared() && !p.Limited() {
		t = s.its()
	} else if t, err = c.st.Task(ctx, ref.ID); err != nil {
		return mapping.Task{}, nil, err
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
	t.Artifacts, _, err = s.st.Artifacts(ctx, t.ThreadID, 0, 0)
	return t, err
}

func (s *tasks) List(ctx context.Context, ref adapter.TaskRef, p adapter.Page) ([]mapping.Task, int, error) {
	agent, err := s.agent(ctx, ref.Agent)
	if err != nil {
		return nil, 0, err
	}
	if ref.Topic != "" {
		if _, _, err := s.findTopic(ctx, adapter.TopicRef{Agent: ref.Agent, ID: ref.Topic}); err != nil {
			return nil, 0, err
		}
	}
	list, total, err := s.st.Tasks(ctx, store.TaskQuery{Agent: agent.Name, ThreadID: ref.Topic, Limit: p.Size, Offset: (p.Number - 1) * p.Size})
	if err != nil {
		return nil, 0, err
	}
	list, err = those(list, func(t mapping.Task) (mapping.Task, error) {
		var err error
		t.Artifacts, _, err = s.st.Artifacts(ctx, t.ThreadID, 0, 0)
		return t, err
	})
	return list, total, err
}

func (s *tasks) Cancel(ctx context.Context, ref adapter.TaskRef) (mapping.Task, error) {
	t, agent, err := s.find(ctx, ref)
	if err != nil {
		return t, err
	}
	ses, err := s.session(ctx, t, agent)
	if err != nil {
		return t, err
	}
	if err := s.upToDate(ctx, ses); err != nil {
		return t, err
	}
	newest := ses.newest()
	active, err := s.st.Runs(ctx, store.RunQuery{ThreadID: t.ThreadID, TaskID: t.ID, Status: []mapping.RunStatus{mapping.RunPending, mapping.RunRunning}})
	if err != nil {
		return t, err
	}
	if len(active) == 0 && (!ses.begun() || ses.asked()) {
		r, err := s.never(ctx, ses, newest, ref.Flavour)
		if err != nil && mapping.Classify(err).Code == store.CodeTaskMoved { // a run was made meanwhile: that one is cancelled
			if err := wait(ctx, turnPoll); err != nil {
				return t, err
			}
			return s.Cancel(ctx, ref)
		}
		if err != nil {
			return t, err
		}
		active = append(active, r)
	}
	for _, r := range active { // newest first: none that waits gets its turn
		err := s.engine.Cancel(ctx, r, false)
		if class := mapping.Classify(err).Class; err != nil && class != mapping.Conflict && class != mapping.NotFound {
			return t, err
		}
	}
	return s.Get(ctx, ref)
}

// never makes a run that does not start, for a task that is cancelled before
// its first step or while it waits for an answer: its end is what later steps answer.
func (s *tasks) never(ctx context.Context, ses *session, newest string, flavour mapping.Flavour) (mapping.Run, error) {
	n := adapter.NewRun{ThreadID: ses.task.ThreadID, Flavour: flavour, Multitask: mapping.StrategyEnqueue, RunAfter: time.Hour}
	return s.startStep(ctx, ses, n, &taskRun{task: ses.its(), stepping: ses.mode, newest: newest}, nil, store.Key{})
}

// startStep makes a run of the task. say is what its first upstream step is
// told verbatim, where each is asked for.
func (c *core) startStep(ctx context.Context, ses *session, n adapter.NewRun, tr *taskRun, say *string, key store.Key) (mapping.Run, error) {
	o, _, err := c.orderFor(ctx, ses.agent, c.itself(ses.agent), n, tr)
	if err != nil {
		return mapping.Run{}, err
	}
	o.Say = say
	o.New.IdempotencyKey, o.New.IdempotencyRoute, o.New.IdempotencySum = key.Text, key.Route, key.Sum
	if tr.asked == nil {
		o.New.Newest = &tr.newest
	}
	created, err := c.engine.Begin(ctx, o)
	if err != nil {
		return mapping.Run{}, err
	}
	ses.joined(created.Run)
	return created.Run, nil
}
