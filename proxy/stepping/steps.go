package stepping

import (
	"context"
	"iter"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// reader reads the steps of tasks.
type reader struct {
	loader    *loader
	log       runFollower
	artifacts *artifact.Table
}

// runFollower follows the log of a run; eventlog.Log implements it.
type runFollower interface {
	Follow(ctx context.Context, run *mapping.Run, after int64, idle func()) iter.Seq2[*state.Entry, error]
}

// Steps returns the released steps of a task and the one that is held back, with what fetched them and the ids of their
// artifacts (WithArtifacts fills in the rest).
func (s *reader) Steps(ctx context.Context, task mapping.Task, agent *engine.Agent) ([]mapping.Step, error) {
	ses, err := s.loader.open(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	return ses.all(), nil
}

// Follow yields the steps after a number as they are released, up to the last. It starts nothing: a task whose run no
// client began has none. It ends with an error, which is yielded, or when the task's runs have ended.
func (s *reader) Follow(ctx context.Context, task mapping.Task, agent *engine.Agent, after int) iter.Seq2[mapping.Step, error] {
	return func(yield func(mapping.Step, error) bool) {
		ses, err := s.loader.open(ctx, task, agent)
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

// await returns step n once it is released; ok is false when the task's runs have ended without it.
func (s *reader) await(ctx context.Context, ses *session, n int) (mapping.Step, bool, error) {
	for {
		i, run, seq, active := ses.current()
		step, ok := ses.step(n)
		if ok && (active || !step.IsLast) {
			return step, true, nil
		}
		if !active { // a run that was made elsewhere may take a last step back
			if found, err := s.loader.findMore(ctx, ses); !found || err != nil {
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

// WithArtifacts fills in the artifacts of steps, which carry only their ids. Those that are gone are left out.
func (s *reader) WithArtifacts(ctx context.Context, threadID string, list []mapping.Step) error {
	return withArtifacts(ctx, s.artifacts, threadID, list)
}

func withArtifacts(ctx context.Context, table *artifact.Table, threadID string, list []mapping.Step) error {
	some := false
	for _, st := range list {
		some = some || len(st.Artifacts) > 0
	}
	if !some {
		return nil
	}
	all, _, err := table.List(ctx, threadID, 0, 0)
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
