package service

import (
	"cmp"
	"context"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
)

// conversations read what was said in topics.
type conversations struct {
	topics  topicFinder
	tasks   *store.Tasks
	runs    *store.Runs
	log     runReader
	heads   heads
	stepper *stepping.Stepper
}

// runReader reads what a run has logged; eventlog.Log implements it.
type runReader interface {
	Read(ctx context.Context, run *mapping.Run, after int64) ([]*state.Entry, error)
}

func (s conversations) ListInteractions(ctx context.Context, ref adapter.TopicRef, p adapter.Page) ([]rule.Interaction, int, error) {
	all, err := s.all(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	list := adapter.PageOf(all, (p.Number-1)*p.Size, p.Size)
	return list, len(all), s.withFiles(ctx, ref.ID, list)
}

func (s conversations) GetInteraction(ctx context.Context, ref adapter.TopicRef, id string) (rule.Interaction, error) {
	all, err := s.all(ctx, ref)
	if err != nil {
		return rule.Interaction{}, err
	}
	i := slices.IndexFunc(all, func(said rule.Interaction) bool { return said.ID == id })
	if i < 0 {
		return rule.Interaction{}, mapping.Errorf(mapping.NotFound, "interaction_not_found", "There is no interaction %q in topic %q.", id, ref.ID)
	}
	return all[i], s.withFiles(ctx, ref.ID, all[i:i+1])
}

// all reads the whole conversation of a topic.
func (s conversations) all(ctx context.Context, ref adapter.TopicRef) ([]rule.Interaction, error) {
	_, t, err := s.topics.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	c := rule.Conversation{TopicID: t.ID}
	if c.Tasks, _, err = s.tasks.List(ctx, store.TaskQuery{ThreadID: t.ID}); err != nil {
		return nil, err
	}
	if c.Runs, err = s.runs.List(ctx, mapping.RunQuery{ThreadID: t.ID, OldestFirst: true}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.Runs, byStart)
	c.Told = make([][]*state.Entry, len(c.Runs))
	for i, r := range c.Runs {
		c.Told[i], err = s.log.Read(ctx, &r, 0)
		if err != nil && mapping.Classify(err).Class != mapping.NotFound { // it may be rolled back meanwhile
			return nil, err
		}
	}
	fold, err := s.heads.newest(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	c.Messages = fold.Messages()
	return c.Interactions(), nil
}

// byStart orders runs by when they began; those that have not come last, as they were made.
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

// withFiles fills in the artifacts of interactions, which carry only their ids.
func (s conversations) withFiles(ctx context.Context, topicID string, list []rule.Interaction) error {
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
