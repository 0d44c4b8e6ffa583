package service

import (
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

// maxTopicItems limits the items of the long-term store in a topic's memory.
const maxTopicItems = 1000

func (s *Service) CreateTopic(ctx context.Context, n adapter.TopicRequest) (rule.Topic, error) {
	agent, err := s.findAgent(ctx, n.Agent)
	if err == nil {
		err = store.CheckIdempotencyKey(n.IdempotencyKey)
	}
	if err != nil {
		return rule.Topic{}, err
	}
	meta, err := rule.TopicMetadata(n.Name, n.AdditionalInput)
	if err == nil {
		meta, err = rule.MergeMetadata(meta, rule.MadeFor(agent.Name, mapping.AssistantID(agent.Name)))
	}
	if err != nil {
		return rule.Topic{}, err
	}
	p, now := mapping.PrincipalOf(ctx), s.store.Now()
	t, _, err := s.makeThread(ctx, store.ThreadCreation{Thread: mapping.Thread{
		Tenant: p.Tenant, Owner: p.ID, ID: mapping.NewID(), Metadata: meta, Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: now, UpdatedAt: now,
	}, Agent: agent.Name, Key: keyOfTopic(ctx, n)})
	if err != nil {
		return rule.Topic{}, err
	}
	mapping.AddAuditObject(ctx, "topic", t.ID)
	return s.completeTopic(ctx, t, s.log)
}

func (s *Service) GetTopic(ctx context.Context, ref adapter.TopicRef) (rule.Topic, error) {
	_, t, err := s.findTopic(ctx, ref)
	if err != nil {
		return rule.Topic{}, err
	}
	return s.completeTopic(ctx, t, s.log)
}

func (s *Service) ListTopics(ctx context.Context, name string, p adapter.Page) (iter.Seq2[rule.Topic, error], int, error) {
	agent, err := s.findAgent(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	own := func(t mapping.Thread) (bool, error) { return rule.OwnTopic(t.Metadata, agent.Name), nil }
	threads, total, err := s.store.Threads.Search(ctx, mapping.ThreadQuery{Asc: true, Limit: p.Size, Offset: (p.Number - 1) * p.Size}, own)
	if err != nil {
		return nil, 0, err
	}
	states := s.log.Listing()
	return those(threads, func(t mapping.Thread) (rule.Topic, error) { return s.completeTopic(ctx, t, states) }), total, nil
}

// completeTopic returns a thread as a topic with its memory and artifacts.
func (s *Service) completeTopic(ctx context.Context, t mapping.Thread, states stateReader) (rule.Topic, error) {
	now, fold, err := s.readHeadWith(ctx, &t, states)
	if err != nil {
		return rule.Topic{}, err
	}
	topic := rule.TopicOf(*now)
	items, err := s.topicItems(ctx, rule.TopicNamespace(t.ID))
	if err != nil {
		return topic, err
	}
	topic.Memory = rule.TopicMemory(fold.Once(), t.ID, items)
	topic.Artifacts, _, err = s.store.Artifacts.List(ctx, t.ID, 0, 0)
	return topic, err
}

// findTopic reads the thread of a topic. A topic of another agent counts as missing.
func (s *Service) findTopic(ctx context.Context, ref adapter.TopicRef) (*engine.Agent, mapping.Thread, error) {
	agent, err := s.findAgent(ctx, ref.Agent)
	if err != nil {
		return nil, mapping.Thread{}, err
	}
	t, err := s.store.Threads.Get(ctx, ref.ID)
	if notFound(err) || err == nil && !rule.OwnTopic(t.Metadata, agent.Name) {
		err = mapping.Errorf(mapping.NotFound, mapping.CodeThreadNotFound, "There is no topic %q of agent %s.", ref.ID, agent.Name)
	}
	return agent, t, err
}

// createTopicTask creates a task on a topic's thread. Nothing runs before its first step. If there was an identical
// request, it returns the id of that request's task as earlier.
func (s *Service) createTopicTask(ctx context.Context, ref adapter.TopicRef, input *string, additional json.RawMessage, key store.IdempotencyKey) (_ mapping.Task, earlier string, err error) {
	agent, t, err := s.findTopic(ctx, ref)
	if err != nil {
		return mapping.Task{}, "", err
	}
	if err := checkStrategy(agent, additional); err != nil {
		return mapping.Task{}, "", err
	}
	p, now := mapping.PrincipalOf(ctx), s.store.Now()
	k := mapping.Task{
		Tenant: p.Tenant, Owner: p.ID, ID: mapping.NewID(), ThreadID: t.ID, Agent: agent.Name, Topic: true,
		AdditionalInput: rawjson.OrEmpty(additional), CreatedAt: now, UpdatedAt: now,
	}
	if input != nil {
		k.Input, k.HasInput = *input, true
	}
	if k, earlier, err = s.store.Tasks.Create(ctx, k, key); err != nil || earlier != "" {
		return k, earlier, err
	}
	k.Artifacts, _, err = s.store.Artifacts.List(ctx, t.ID, 0, 0)
	return k, "", err
}

// checkStrategy refuses a strategy that the task's first step would refuse, before the task is created.
func checkStrategy(agent *engine.Agent, additional json.RawMessage) error {
	sent := rule.ReadTaskExtra(additional).Strategy
	if len(sent) == 0 {
		return nil
	}
	said := rawjson.TextOf(sent)
	switch rule.TaskStrategy(said) {
	case mapping.StrategyReject, mapping.StrategyEnqueue, mapping.StrategyInterrupt, mapping.StrategyRollback:
		return nil
	case mapping.StrategyConcurrent:
		if agent.Config.AllowConcurrent {
			return nil
		}
		return mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported,
			"additional_input.multitask_strategy %s is disabled for agent %s (allow_concurrent in the bridge's configuration). Use reject, enqueue, interrupt or rollback.",
			said, agent.Name)
	}
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
		"additional_input.multitask_strategy must be sequence or parallel, or reject, enqueue, interrupt, rollback or concurrent.")
}
