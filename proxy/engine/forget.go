package engine

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Forget deletes an agent's copies of a deleted thread where its configuration
// asks for that (upstream_threads: delete). Best effort: the thread is gone
// here either way.
func (e *Engine) Forget(ctx context.Context, links []mapping.Link) {
	for _, l := range links {
		agent := e.agents[l.Agent]
		if agent == nil || agent.Config.UpstreamThreads != "delete" || l.Remote == "" {
			continue
		}
		b, _, err := agent.Backend(ctx)
		if err != nil {
			continue
		}
		f, ok := b.(adapter.Forgetter)
		if !ok {
			continue
		}
		if err := f.Forget(ctx, l); err != nil {
			e.zap.Info("an agent's copy of a deleted thread could not be deleted", errField(err), agentField(l.Agent))
		}
	}
}
