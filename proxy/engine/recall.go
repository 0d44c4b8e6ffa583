package engine

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/memory"
)

// recollection is the long-term store as runs and their agents use it. Safe for concurrent use.
type recollection struct {
	memory   *memory.Memory
	settings *configured
	running  *executions
}

// Recall reads what the agent's memory.namespaces name for a run, which may still have to be made. The metadata is that
// of its thread; words are those of its request, without which memory.recall takes the newest.
func (m *recollection) Recall(ctx context.Context, a *Agent, r *mapping.Run, metadata json.RawMessage, words string) (memory.Recalled, error) {
	return m.memory.Recall(ctx, memory.Scope{Config: a.Config.Memory, Run: r, Metadata: metadata}, words)
}

// Granted returns the principal that a token of a run stands for: it may use the store alone, in the namespaces of the
// agent's memory. ok is false for any other text, and for a token that was not signed here. The error is of class
// Unauthorized when the run has ended.
func (m *recollection) Granted(ctx context.Context, token string) (who mapping.Principal, ok bool, err error) {
	return m.memory.Granted(ctx, token, func(r *mapping.Run) (config.Memory, bool) {
		agent := m.agentOf(r)
		if agent == nil {
			return config.Memory{}, false
		}
		return agent.Config.Memory, true
	})
}

// agentOf is the agent that carries a run out: an execution keeps the one that it began with.
func (m *recollection) agentOf(r *mapping.Run) *Agent {
	if x := m.running.find(r.ID); x != nil {
		return x.agent
	}
	return m.settings.agent(r.Agent)
}

// remembering is the long-term store for the agent of the run.
func (x *execution) remembering() memory.Scope {
	return memory.Scope{Config: x.agent.Config.Memory, Run: &x.Run, Metadata: x.Thread.Metadata}
}

// access is what the agent may do with the store by itself; nil: nothing. What it says from now on is searched for the
// token.
func (x assignment) access(ctx context.Context, whose memory.Whose) (*memory.Access, error) {
	access, err := x.works.sources.memory.Access(ctx, x.remembering(), whose)
	if access != nil {
		x.token = access.Token
	}
	return access, err
}

// remember stores what a step asked to be remembered. What cannot be is said in the log. It comes before the step is
// logged, since a step that is not logged is asked for again after a crash, and then remembered again.
func (x *execution) remember(ctx context.Context, step *mapping.Event) {
	if err := x.works.sources.memory.Remember(ctx, x.remembering(), step); err != nil {
		x.works.reports.zap.Warn("what an agent asked to be remembered could not be stored", errField(err), runField(x.Run.ID), agentField(x.agent.Name))
	}
}

// noteTold has the log say with the run's first link which items the agent was told of.
func (x *execution) noteTold(ev *mapping.Event) {
	if ev.Kind == mapping.KindLinked {
		ev.Head.Told, x.told = x.told, nil
	}
}
