package engine

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/memory"
)

// Recall reads the items in the agent's memory.namespaces for a run, which need not exist yet. metadata is that of its
// thread, and words is the text of its request. Without text, memory.max_items selects the newest items.
func (e *Engine) Recall(ctx context.Context, a *Agent, r *mapping.Run, metadata json.RawMessage, words string) (memory.Recalled, error) {
	return e.memory.Recall(ctx, memory.Scope{Config: a.Config.Memory, Run: r, Metadata: metadata}, words)
}

// Granted returns the principal of a run's token, which may use only the store, in the namespaces of the agent's
// memory. ok is false if the token was not signed here. It returns an Unauthorized error if the run has ended.
func (e *Engine) Granted(ctx context.Context, token string) (who mapping.Principal, ok bool, err error) {
	return e.memory.Granted(ctx, token, func(r *mapping.Run) (config.Memory, bool) {
		agent := e.agentOf(r)
		if agent == nil {
			return config.Memory{}, false
		}
		return agent.Config.Memory, true
	})
}

// memoryScope returns the scope of the long-term store for the run.
func (x *execution) memoryScope() memory.Scope {
	return memory.Scope{Config: x.agent.Config.Memory, Run: &x.Run, Metadata: x.Thread.Metadata}
}

// storeAccess returns the agent's own access to the store, or nil if it has none. From then on the token is removed
// from the agent's events.
func (x *execution) storeAccess(ctx context.Context, whose memory.Whose) (*memory.Access, error) {
	access, err := x.e.memory.Access(ctx, x.memoryScope(), whose)
	if access != nil {
		x.token = access.Token
	}
	return access, err
}

// remember stores the items that a step asks the bridge to keep. It logs failures. It is called before the step is
// logged. If the process crashes in between, the step is repeated and its items are stored again.
func (x *execution) remember(ctx context.Context, step *mapping.Event) {
	if err := x.e.memory.Remember(ctx, x.memoryScope(), step); err != nil {
		x.e.logger.Warn("memory of an agent could not be stored", errField(err), runField(x.Run.ID), agentField(x.agent.Name))
	}
}
