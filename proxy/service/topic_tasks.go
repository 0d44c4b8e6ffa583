package service

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// topicTasks makes tasks on the threads of topics.
type topicTasks struct {
	topics    topicFinder
	tasks     *store.Tasks
	artifacts *artifact.Table
	now       func() time.Time // store.Store.Now
}

// create makes a task on a topic's thread. Nothing runs before its first step. earlier is what the same request has
// made before.
func (m topicTasks) create(ctx context.Context, ref adapter.TopicRef, input *string, additional json.RawMessage, key store.IdempotencyKey) (_ mapping.Task, earlier string, err error) {
	agent, t, err := m.topics.find(ctx, ref)
	if err != nil {
		return mapping.Task{}, "", err
	}
	if err := checkStrategy(agent, additional); err != nil {
		return mapping.Task{}, "", err
	}
	p, now := mapping.PrincipalOf(ctx), m.now()
	k := mapping.Task{
		Tenant: p.Tenant, Owner: p.ID, ID: mapping.NewID(), ThreadID: t.ID, Agent: agent.Name, Topic: true,
		AdditionalInput: rawjson.OrEmpty(additional), CreatedAt: now, UpdatedAt: now,
	}
	if input != nil {
		k.Input, k.HasInput = *input, true
	}
	if k, earlier, err = m.tasks.Create(ctx, k, key); err != nil || earlier != "" {
		return k, earlier, err
	}
	k.Artifacts, _, err = m.artifacts.List(ctx, t.ID, 0, 0)
	return k, "", err
}

// checkStrategy refuses, before anything is made, what a task's first step would refuse.
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
		return mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, "%s %s is off for agent %s (allow_concurrent in the bridge's configuration). Use reject, enqueue, interrupt or rollback.",
			mapping.MeansStrategy, said, agent.Name)
	}
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
		"%s must be sequence or parallel, or reject, enqueue, interrupt, rollback or concurrent.", mapping.MeansStrategy)
}
