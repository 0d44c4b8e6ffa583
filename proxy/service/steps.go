package service

import (
	"context"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// steps reads the steps of a task.
type steps struct{ *core }

func (s *steps) open(ctx context.Context, ref adapter.TaskRef) (*session, error) {
	t, agent, err := s.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		ses, err := s.session(ctx, t, agent)
		if err == nil {
			err = s.upToDate(ctx, ses)
		}
		if err == nil || try == headRetries || mapping.Classify(err).Code != mapping.CodeRunNotFound {
			return ses, err
		}
		s.sessions.forget(ses.key) // a run of it was rolled back or deleted
	}
}

// all are the released steps and the held one, with what fetched them.
func (s *session) all() []mapping.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]mapping.Step, 0, len(s.steps)+1)
	for _, st := range s.steps {
		if r, ok := s.requests[st.N]; ok {
			st = withRequest(st, r)
		}
		list = append(list, st)
	}
	if h := s.folder.Held(); h != nil {
		held := *h
		held.Status = mapping.StepRunning
		list = append(list, held)
	}
	return list
}

func (s *steps) List(ctx context.Context, ref adapter.TaskRef, p adapter.Page) ([]mapping.Step, int, error) {
	ses, err := s.open(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	list := ses.all()
	total := len(list)
	list = page(list, (p.Number-1)*p.Size, p.Size)
	return list, total, s.withArtifacts(ctx, ses.task.ThreadID, list)
}

func (s *steps) Get(ctx context.Context, ref adapter.TaskRef, stepID string) (mapping.Step, error) {
	ses, err := s.open(ctx, ref)
	if err != nil {
		return mapping.Step{}, err
	}
	for _, st := range ses.all() {
		if st.ID == stepID {
			list := []mapping.Step{st}
			err := s.withArtifacts(ctx, ses.task.ThreadID, list)
			return list[0], err
		}
	}
	return mapping.Step{}, mapping.Errorf(mapping.NotFound, mapping.CodeStepNotFound, "Task %s has no step %q.", ref.ID, stepID)
}

// Follow yields steps as they are released. It starts nothing: a task whose
// run nobody began has none.
func (s *steps) Follow(ctx context.Context, ref adapter.TaskRef, after int) iter.Seq2[mapping.Step, error] {
	return func(yield func(mapping.Step, error) bool) {
		ses, err := s.open(ctx, ref)
		for n := after + 1; err == nil; n++ {
			var step mapping.Step
			var ok bool
			if step, ok, err = s.await(ctx, ses, n); err != nil || !ok {
				break
			}
			list := []mapping.Step{step}
			if err = s.withArtifacts(ctx, ses.task.ThreadID, list); err != nil {
				break
			}
			if !yield(list[0], nil) || step.IsLast {
				return
			}
		}
		if err != nil {
			yield(mapping.Step{}, err)
		}
	}
}

// await returns step n once it is released; ok is false when the task's runs
// have ended without it.
func (s *steps) await(ctx context.Context, ses *session, n int) (mapping.Step, bool, error) {
	for {
		i, run, seq, active := ses.current()
		step, ok := ses.step(n)
		if ok && (active || !step.IsLast) {
			return step, true, nil
		}
		if !active {
			if found, err := s.more(ctx, ses); !found || err != nil {
				return step, ok && err == nil, err
			}
			continue
		}
		for e, err := range s.log.Follow(ctx, run, seq, nil) {
			if err != nil {
				return mapping.Step{}, false, err
			}
			ses.feed(i, e)
			if _, ok := ses.step(n); ok {
				break
			}
		}
	}
}

// withArtifacts fills in the artifacts of steps, which carry only their ids.
func (c *core) withArtifacts(ctx context.Context, threadID string, list []mapping.Step) error {
	any := false
	for _, st := range list {
		any = any || len(st.Artifacts) > 0
	}
	if !any {
		return nil
	}
	all, _, err := c.st.Artifacts(ctx, threadID, 0, 0)
	if err != nil {
		return err
	}
	byID := make(map[string]mapping.Artifact, len(all))
	for _, a := range all {
		byID[a.ID] = a
	}
	for i := range list {
		full := make([]mapping.Artifact, 0, len(list[i].Artifacts))
		for _, a := range list[i].Artifacts {
			if known, ok := byID[a.ID]; ok {
				full = append(full, known)
			}
		}
		list[i].Artifacts = full
	}
	return nil
}
