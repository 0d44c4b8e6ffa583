package engine

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// copies are those that agents have of threads which are deleted here. Safe for concurrent use.
type copies struct {
	settings *configured
	removals *removals
	root     context.Context
	spawn    func(func()) bool
	turn     chan struct{} // one batch of deleted threads at a time
	zap      *zap.Logger
}

// unwanted reports whether any of the links' agents is to be told.
func (c *copies) unwanted(links []mapping.Link) bool {
	for _, l := range links {
		if a := c.settings.agent(l.Agent); a != nil && a.Config.UpstreamThreads == "delete" && l.Remote != "" {
			return true
		}
	}
	return false
}

// ThreadsDeleted tells all holders of their data that threads are no more: those of this process at once, agents
// without being waited for. One batch is told after the other.
func (c *copies) ThreadsDeleted(gone []store.Gone) {
	var told []store.Gone
	for _, g := range gone {
		c.removals.thread(g)
		if c.unwanted(g.Links) {
			told = append(told, g)
		}
	}
	if len(told) > 0 {
		c.spawn(func() { c.deleteAll(told) })
	}
}

// deleteAll tells agents of a batch of deleted threads.
func (c *copies) deleteAll(gone []store.Gone) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-c.root.Done():
		return
	}
	for _, g := range gone {
		ctx, stop := context.WithTimeout(mapping.WithPrincipal(c.root, mapping.Principal{Tenant: g.Tenant}), cancelGrace)
		c.Forget(ctx, g.Links)
		stop()
	}
}

// Forget deletes an agent's copies of a deleted thread where its configuration asks for that (upstream_threads:
// delete). Best effort: the thread is gone here either way. It needs no permit: an agent's copy belongs to one thread,
// so that deleting it late, or twice, is deleting it once.
func (c *copies) Forget(ctx context.Context, links []mapping.Link) {
	for _, l := range links {
		agent := c.settings.agent(l.Agent)
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
			c.zap.Info("an agent's copy of a deleted thread could not be deleted", errField(err), agentField(l.Agent))
		}
	}
}
