package service

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// topicItems bounds the items of the long-term store that a topic's memory shows.
const topicItems = 1000

// topics are threads as the topic face has them.
type topics struct {
	directory *directory.Directory
	finder    topicFinder
	maker     threadMaker
	threads   *store.Threads
	items     *items
	artifacts *artifact.Table
	heads     heads
	log       lister
	now       func() time.Time // store.Store.Now
}

func (s *topics) Create(ctx context.Context, n adapter.NewTopic) (rule.Topic, error) {
	agent, err := s.directory.Agent(ctx, n.Agent)
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
	p, now := mapping.PrincipalOf(ctx), s.now()
	t, _, err := s.maker.create(ctx, store.ThreadCreation{Thread: mapping.Thread{
		Tenant: p.Tenant, Owner: p.ID, ID: mapping.NewID(), Metadata: meta, Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: now, UpdatedAt: now,
	}, Agent: agent.Name, Key: keyOfTopic(ctx, n)})
	if err != nil {
		return rule.Topic{}, err
	}
	mapping.NoteObject(ctx, "topic", t.ID)
	return s.topic(ctx, t, s.heads.states)
}

func (s *topics) Get(ctx context.Context, ref adapter.TopicRef) (rule.Topic, error) {
	_, t, err := s.finder.find(ctx, ref)
	if err != nil {
		return rule.Topic{}, err
	}
	return s.topic(ctx, t, s.heads.states)
}

func (s *topics) List(ctx context.Context, name string, p adapter.Page) (iter.Seq2[rule.Topic, error], int, error) {
	agent, err := s.directory.Agent(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	own := func(t mapping.Thread) (bool, error) { return rule.OwnTopic(t.Metadata, agent.Name), nil }
	threads, total, err := s.threads.Search(ctx, mapping.ThreadQuery{Asc: true, Limit: p.Size, Offset: (p.Number - 1) * p.Size}, own)
	if err != nil {
		return nil, 0, err
	}
	states := s.log.Listing()
	return those(threads, func(t mapping.Thread) (rule.Topic, error) { return s.topic(ctx, t, states) }), total, nil
}

// topic completes a thread with what it remembers.
func (s *topics) topic(ctx context.Context, t mapping.Thread, states stateReader) (rule.Topic, error) {
	now, fold, err := s.heads.readBy(ctx, &t, states)
	if err != nil {
		return rule.Topic{}, err
	}
	topic := rule.TopicOf(*now)
	items, err := s.items.of(ctx, rule.TopicNamespace(t.ID))
	if err != nil {
		return topic, err
	}
	topic.Memory = rule.TopicMemory(fold.Once(), t.ID, items)
	topic.Artifacts, _, err = s.artifacts.List(ctx, t.ID, 0, 0)
	return topic, err
}
