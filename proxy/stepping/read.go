package stepping

import (
	"context"
	"iter"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

// Steps returns the released steps of a task and the held one, with the inputs of the POSTs that fetched them and the
// ids of their artifacts. WithArtifacts fills in the rest.
func (s *Stepper) Steps(ctx context.Context, task mapping.Task, agent *engine.Agent) ([]mapping.Step, error) {
	ses, err := s.currentSession(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	return ses.all(), nil
}

// Follow yields the steps after a number as they are released, up to the last. It starts no run. It stops after an
// error, which it yields, or when the task's runs have ended.
func (s *Stepper) Follow(ctx context.Context, task mapping.Task, agent *engine.Agent, after int) iter.Seq2[mapping.Step, error] {
	return func(yield func(mapping.Step, error) bool) {
		ses, err := s.currentSession(ctx, task, agent)
		for n := after + 1; err == nil; n++ {
			var step mapping.Step
			var ok bool
			if step, ok, err = s.await(ctx, ses, n); err != nil || !ok {
				break
			}
			list := []mapping.Step{step}
			if err = s.WithArtifacts(ctx, ses.Task().ThreadID, list); err != nil {
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

// await returns step n once it is released. ok is false if the task's runs have ended without it.
func (s *Stepper) await(ctx context.Context, ses *session, n int) (mapping.Step, bool, error) {
	for {
		i, run, seq, active := ses.current()
		step, ok := ses.step(n)
		if ok && (active || !step.IsLast) {
			return step, true, nil
		}
		if !active { // after a run created elsewhere, the step may not be the last
			if found, err := s.findMore(ctx, ses); !found || err != nil {
				return step, ok && err == nil, err
			}
			continue
		}
		for e, err := range s.log.Follow(ctx, &run, seq, nil) {
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

// WithArtifacts fills in the artifacts of steps that have only their ids. It omits deleted ones.
func (s *Stepper) WithArtifacts(ctx context.Context, threadID string, list []mapping.Step) error {
	some := false
	for _, st := range list {
		some = some || len(st.Artifacts) > 0
	}
	if !some {
		return nil
	}
	all, _, err := s.store.Artifacts.List(ctx, threadID, 0, 0)
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
