package service

import (
	"context"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// allSteps returns the steps of a task, without their artifacts.
func (s *Service) allSteps(ctx context.Context, ref adapter.TaskRef) (mapping.Task, []mapping.Step, error) {
	t, agent, err := s.findTask(ctx, ref)
	if err != nil {
		return t, nil, err
	}
	list, err := s.stepper.Steps(ctx, t, agent)
	return t, list, err
}

func (s *Service) ListSteps(ctx context.Context, ref adapter.TaskRef, p adapter.Page) ([]mapping.Step, int, error) {
	t, list, err := s.allSteps(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	total := len(list)
	list = adapter.PageOf(list, (p.Number-1)*p.Size, p.Size)
	return list, total, s.stepper.WithArtifacts(ctx, t.ThreadID, list)
}

func (s *Service) GetStep(ctx context.Context, ref adapter.TaskRef, stepID string) (mapping.Step, error) {
	t, all, err := s.allSteps(ctx, ref)
	if err != nil {
		return mapping.Step{}, err
	}
	for _, st := range all {
		if st.ID == stepID {
			list := []mapping.Step{st}
			err := s.stepper.WithArtifacts(ctx, t.ThreadID, list)
			return list[0], err
		}
	}
	return mapping.Step{}, mapping.Errorf(mapping.NotFound, mapping.CodeStepNotFound, "Task %s has no step %q.", ref.ID, stepID)
}

// FollowSteps yields steps as they are released; see stepping.Stepper.
func (s *Service) FollowSteps(ctx context.Context, ref adapter.TaskRef, after int) iter.Seq2[mapping.Step, error] {
	return func(yield func(mapping.Step, error) bool) {
		t, agent, err := s.findTask(ctx, ref)
		if err != nil {
			yield(mapping.Step{}, err)
			return
		}
		s.stepper.Follow(ctx, t, agent, after)(yield)
	}
}
