package service

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/service/stateupdate"
	"github.com/apbridge/apbridge/proxy/store"
)

func (s *Service) GetState(ctx context.Context, threadID, checkpointID string) (adapter.ThreadState, error) {
	_, _, st, err := s.readState(ctx, threadID, checkpointID)
	return st, err
}

// readState reads a thread and its state at a checkpoint; "" means the head.
func (s *Service) readState(ctx context.Context, threadID, checkpointID string) (t mapping.Thread, c mapping.Checkpoint, st adapter.ThreadState, err error) {
	var fold *state.Fold
	for try := 1; ; try++ {
		if t, err = s.store.Threads.Get(ctx, threadID); err != nil {
			return t, c, st, err
		}
		if fold, c, err = s.log.State(ctx, threadID, checkpointID); err != nil {
			return t, c, st, err
		}
		if checkpointID != "" || c.ID == t.Head || try == headRetries { // otherwise the head moved in between
			st, err = s.threadState(ctx, t, c, fold)
			return t, c, st, err
		}
	}
}

// threadState returns the state at a checkpoint. The state at the head also has the open questions of the thread, or
// the fault of its last run.
func (s *Service) threadState(ctx context.Context, t mapping.Thread, c mapping.Checkpoint, fold *state.Fold) (adapter.ThreadState, error) {
	out := adapter.ThreadState{ThreadID: t.ID, Values: fold.JSON(), Next: []string{}, Tasks: json.RawMessage(`[]`), Metadata: json.RawMessage(`{}`)}
	if c.ID == "" {
		return out, nil
	}
	out.Checkpoint, out.Parent, out.CreatedAt, out.StepNumber = c.ID, c.Parent, c.CreatedAt, c.StepNumber()
	if c.Next != nil {
		out.Next = c.Next
	}
	var fault *mapping.Fault
	if c.ID == t.Head {
		out.Interrupts = t.Interrupts
		if t.Status == mapping.ThreadInterrupted && askedElsewhere(t.Interrupts, c) {
			var err error
			if out.Next, err = s.askingNodes(ctx, t); err != nil {
				return out, err
			}
		}
		if t.Status == mapping.ThreadError {
			var err error
			if fault, err = s.lastFault(ctx, t.ID); err != nil {
				return out, err
			}
		}
	}
	out.Metadata = rule.CheckpointMetadata(t.ID, c)
	if c.Tasks != nil && fault == nil && len(out.Interrupts) == 0 {
		out.Tasks = c.Tasks
	} else {
		out.Tasks = rule.StateTasks(t.ID, c.ID, out.Next, fault, out.Interrupts)
	}
	return out, nil
}

// askedElsewhere reports whether a state does not show which nodes asked the questions, because it was created by
// another agent's run that has ended or asked its own question.
func askedElsewhere(open []mapping.Interrupt, c mapping.Checkpoint) bool {
	return len(open) > 0 && len(c.Next) == 0 || slices.ContainsFunc(open, func(q mapping.Interrupt) bool {
		return q.Run != "" && c.RunID != "" && q.Run != c.RunID
	})
}

// askingNodes returns the nodes that asked the open questions, one for each of rule.StateTasks. Agents without nodes
// share one.
func (s *Service) askingNodes(ctx context.Context, t mapping.Thread) (nodes []string, err error) {
	asked := map[string]bool{}
	for _, q := range t.Interrupts {
		if asked[q.Run] {
			continue
		}
		asked[q.Run] = true
		last, err := s.store.States.Checkpoints(ctx, t.ID, store.CheckpointQuery{Metadata: rule.MadeByRun(q.Run), Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(last) > 0 && len(last[0].Next) > 0 {
			nodes = append(nodes, last[0].Next...)
		} else if !slices.Contains(nodes, rule.StepNode) {
			nodes = append(nodes, rule.StepNode)
		}
	}
	return nodes, nil
}

func (s *Service) lastFault(ctx context.Context, threadID string) (*mapping.Fault, error) {
	last, err := s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: threadID, Limit: 1})
	if err != nil || len(last) == 0 || last[0].Fault == nil {
		return nil, err
	}
	return last[0].Fault, nil
}

// foldOn folds a state that contains only the changes since the previous one (Continues), or a complete one.
func foldOn(before *state.Fold, st store.State) (*state.Fold, error) {
	if !st.Continues {
		return eventlog.FoldState(st)
	}
	entries, err := eventlog.Fold(before, st.Events)
	if err != nil || len(entries) == 0 {
		return before, err
	}
	return entries[len(entries)-1].After, nil
}

func (s *Service) UpdateState(ctx context.Context, threadID string, u adapter.StateUpdate) (mapping.Checkpoint, error) {
	if err := store.CheckIdempotencyKey(u.IdempotencyKey); err != nil {
		return mapping.Checkpoint{}, err
	}
	key := keyOfUpdate(ctx, threadID, u)
	if made, ok, err := s.repeatedUpdate(ctx, threadID, key); ok || err != nil {
		return made, err
	}
	made, err := s.updater.Update(ctx, threadID, u, stateupdate.Note{Key: key})
	if err != nil && mapping.Classify(err).Code == store.CodeRepeated {
		made, _, err = s.repeatedUpdate(ctx, threadID, key)
	}
	return made, err
}

// repeatedUpdate returns the checkpoint that an earlier, identical request created.
func (s *Service) repeatedUpdate(ctx context.Context, threadID string, key store.IdempotencyKey) (made mapping.Checkpoint, ok bool, err error) {
	id, ok, err := s.store.Requests.Remembered(ctx, key)
	if err == nil && ok {
		made, err = s.store.States.Checkpoint(ctx, threadID, id)
	}
	return made, ok, err
}

func (s *Service) DeleteHistory(ctx context.Context, threadID string) (int, error) {
	n, err := s.store.Retention.DeleteHistory(ctx, threadID)
	return int(n), err
}
