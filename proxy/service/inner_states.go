package service

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// agentCopy is an agent's copy of a thread.
type agentCopy struct {
	adapter.CopyReader
	of adapter.Copy
	at adapter.Fork // the checkpoint by which the copy was found
}

// mostCopies limits the copies of a thread that are queried for the state of an inner graph. After an agent has
// received a new copy, it keeps the old one with the inner graphs of earlier runs.
const mostCopies = 8

// copyAt returns the copy that has a checkpoint of a thread. It returns nil if the checkpoint was not created by an
// agent with its own state.
func (s *Service) copyAt(ctx context.Context, t mapping.Thread, c mapping.Checkpoint) (*agentCopy, error) {
	named := c.ID
	c, err := s.originalCheckpoint(ctx, t, c)
	if err != nil {
		return nil, err
	}
	l, err := s.linkOfCheckpoint(ctx, t, c, named != t.Head)
	if err != nil || l.Remote == "" {
		return nil, err
	}
	found, err := s.openCopy(ctx, t, l, c.RunID)
	if found == nil || err != nil {
		return nil, err
	}
	found.of.Checkpoint = named
	found.at = adapter.Fork{Run: l.RemoteRun, Step: c.Step}
	if c.Remote != "" {
		found.at = adapter.Fork{Checkpoint: c.Remote}
	}
	return found, nil
}

// originalCheckpoint returns the checkpoint as the agent knows it. A run that answers a question reports the checkpoint
// from which it continues once more, and that is stored as a separate checkpoint.
func (s *Service) originalCheckpoint(ctx context.Context, t mapping.Thread, c mapping.Checkpoint) (mapping.Checkpoint, error) {
	for c.RunID != "" && c.Remote == "" && c.Parent != "" {
		before, err := s.store.States.Checkpoint(ctx, t.ID, c.Parent)
		if mapping.Classify(err).Code == mapping.CodeCheckpointNotFound { // it is no longer kept
			return c, nil
		}
		if err != nil || !repeats(c, before) {
			return c, err
		}
		c = before
	}
	return c, nil
}

// repeats reports whether a checkpoint is its predecessor, reported again by another run. The step numbers of a graph
// always increase.
func repeats(c, before mapping.Checkpoint) bool {
	return before.ID == c.Parent && before.RunID != c.RunID && before.Step == c.Step && before.Source == c.Source && slices.Equal(before.Next, c.Next)
}

// linkOfCheckpoint returns the link to the agent's thread that has a checkpoint. It returns the zero Link if no agent
// created the checkpoint. If past is true, a checkpoint that was copied from another thread is also searched there. The
// newest checkpoint is not searched there, since each thread continues it separately.
func (s *Service) linkOfCheckpoint(ctx context.Context, t mapping.Thread, c mapping.Checkpoint, past bool) (mapping.Link, error) {
	if c.RunID == "" { // created by an update, possibly through an agent
		return s.linkTo(ctx, t, c.RemoteThread)
	}
	l, err := s.store.Links.Before(ctx, t.ID, c)
	if err == nil && l.Remote == "" && past {
		l, err = s.store.Links.Before(ctx, "", c)
	}
	switch {
	case err != nil:
		return l, err
	case l.Remote == "" && !isStep(c):
		return l, mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamLost,
			"No agent has a copy of this thread: the run that created this state belongs to another thread or was removed. Only that copy had the states of graphs within the agent's graph.")
	}
	l.Remote = cmp.Or(c.RemoteThread, l.Remote)
	return l, nil
}

// isStep reports whether a checkpoint, by its next node, belongs to the graph that the bridge presents for an opaque
// agent.
func isStep(c mapping.Checkpoint) bool { return slices.Equal(c.Next, []string{rule.StepNode}) }

// linkTo returns the thread's link to an agent's thread, or the zero Link.
func (s *Service) linkTo(ctx context.Context, t mapping.Thread, remote string) (mapping.Link, error) {
	if remote == "" {
		return mapping.Link{}, nil
	}
	list, err := s.store.Owners.Copies(ctx, t.ID)
	for _, l := range list {
		if l.Remote == remote {
			return l, err
		}
	}
	return mapping.Link{}, err
}

// openCopy returns the copy that a link refers to, with the assistant of a run. It returns nil for an opaque agent.
func (s *Service) openCopy(ctx context.Context, t mapping.Thread, l mapping.Link, run string) (*agentCopy, error) {
	agent, err := s.findAgent(ctx, l.Agent)
	if err != nil {
		return nil, err
	}
	b, traits, err := agent.Backend(ctx)
	if err != nil || !traits.Exposes.ReportsState() {
		return nil, err
	}
	r, ok := b.(adapter.CopyReader)
	if !ok {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, "Agent %q cannot return the states of graphs within its graph.", agent.Name)
	}
	of := adapter.Copy{Link: l, ThreadID: t.ID, Agent: agent.Name, AssistantID: mapping.AssistantID(agent.Name)}
	if made, err := s.store.Runs.Get(ctx, "", run); err == nil && made.Agent == agent.Name {
		of.AssistantID = made.AssistantID
	}
	return &agentCopy{CopyReader: r, of: of}, nil
}

// copiesOf iterates over the copies of a thread: first the one with its newest state, then the others, newest first.
func (s *Service) copiesOf(ctx context.Context, t mapping.Thread) iter.Seq2[*agentCopy, error] {
	return func(yield func(*agentCopy, error) bool) {
		c, err := s.store.States.Checkpoint(ctx, t.ID, t.Head)
		var newest *agentCopy
		if err == nil {
			newest, err = s.copyAt(ctx, t, c)
		}
		if (err != nil || newest != nil) && !yield(newest, err) {
			return
		}
		links, err := s.store.Owners.Copies(ctx, t.ID)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, l := range links[:min(len(links), mostCopies)] {
			if newest != nil && newest.of.Agent == l.Agent && newest.of.Link.Remote == l.Remote {
				continue
			}
			found, err := s.openCopy(ctx, t, l, c.RunID)
			if (found != nil || err != nil) && !yield(found, err) {
				return
			}
		}
	}
}

// firstCopy returns the first result that a copy has. It returns the zero value if no copy has one, and the first error
// if a query failed.
func firstCopy[T any](ctx context.Context, s *Service, t mapping.Thread, ask func(*agentCopy) (T, bool, error)) (none T, err error) {
	var failed error
	away := map[string]bool{} // agents that did not answer; each request would wait for as long again
	for c, err := range s.copiesOf(ctx, t) {
		var got T
		found := false
		if err == nil {
			if away[c.of.Agent] {
				continue
			}
			c.of.Checkpoint = "" // that id belongs to the root graph
			got, found, err = ask(c)
			away[c.of.Agent] = mapping.Classify(err).Code == mapping.CodeUpstreamUnreachable
		}
		if found {
			return got, nil
		}
		failed = cmp.Or(failed, err)
	}
	return none, failed
}

func (s *Service) GetInnerState(ctx context.Context, threadID string, at adapter.InnerPoint, deep bool) (json.RawMessage, error) {
	t, err := s.store.Threads.Get(ctx, threadID)
	if err != nil {
		return nil, err
	}
	return firstCopy(ctx, s, t, func(c *agentCopy) (json.RawMessage, bool, error) {
		st, err := c.Inner(ctx, c.of, at, deep)
		return st, st != nil && err == nil, err
	})
}

func (s *Service) InnerStateHistory(ctx context.Context, threadID string, at adapter.InnerPoint, q adapter.HistoryQuery) ([]json.RawMessage, error) {
	t, err := s.store.Threads.Get(ctx, threadID)
	if err != nil {
		return nil, err
	}
	return firstCopy(ctx, s, t, func(c *agentCopy) ([]json.RawMessage, bool, error) {
		list, err := c.InnerHistory(ctx, c.of, at, q)
		return list, len(list) > 0 && err == nil, err
	})
}

func (s *Service) UpdateInnerState(ctx context.Context, threadID string, at adapter.InnerPoint, u adapter.StateUpdate) (json.RawMessage, error) {
	if u.IdempotencyKey != "" {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported,
			"The bridge stores nothing about an update of a graph within the agent's graph, so it cannot recognise a repeated Idempotency-Key. Send the update without the key, and read the state if the response is lost.")
	}
	return s.updater.UpdateInner(ctx, threadID, at, u)
}

// GetStateWithTasks implements adapter.States.
func (s *Service) GetStateWithTasks(ctx context.Context, threadID, checkpointID string) (adapter.ThreadState, error) {
	t, c, st, err := s.readState(ctx, threadID, checkpointID)
	if err != nil || isStep(c) || c.ID == t.Head && t.Status == mapping.ThreadBusy { // the tasks of a busy head change
		return st, err
	}
	ctx, stop := context.WithTimeout(ctx, maxTasksDelay)
	defer stop()
	if theirs, err := s.tasksOf(ctx, t, c, st, false); err == nil {
		st.Tasks = rule.AgentTasks(st.Tasks, theirs, c.ID == t.Head)
	}
	return st, nil
}

func (s *Service) GetDeepState(ctx context.Context, threadID, checkpointID string) (adapter.ThreadState, error) {
	t, c, st, err := s.readState(ctx, threadID, checkpointID)
	if err != nil {
		return st, err
	}
	theirs, err := s.tasksOf(ctx, t, c, st, true)
	if err != nil {
		return st, err
	}
	st.Tasks = rule.AgentTasks(st.Tasks, theirs, c.ID == t.Head)
	return st, nil
}

// tasksOf reads the state tasks at a checkpoint from the agent. It returns nil if no node is next or no agent has the
// checkpoint.
func (s *Service) tasksOf(ctx context.Context, t mapping.Thread, c mapping.Checkpoint, st adapter.ThreadState, deep bool) (json.RawMessage, error) {
	if len(st.Next) == 0 {
		return nil, nil
	}
	copied, err := s.copyAt(ctx, t, c)
	if err != nil || copied == nil {
		return nil, err
	}
	return copied.Tasks(ctx, copied.of, copied.at, deep)
}
