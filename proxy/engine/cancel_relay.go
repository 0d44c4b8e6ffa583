package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// cancelGrace is how long an agent gets to take a cancellation.
const cancelGrace = 10 * time.Second

// cancelRelay passes cancellations on to agents that can take them. Safe for concurrent use.
type cancelRelay struct {
	tasks      *taskLog
	background *background
	spawn      func(func()) bool
	zap        *zap.Logger
}

// pass does so beside the caller; agent is nil where there is none any more. r is read after it has returned.
func (c *cancelRelay) pass(agent *Agent, r *mapping.Run) {
	if agent == nil {
		return
	}
	f := agent.found.Load()
	if f == nil {
		return
	}
	told, ok := f.backend.(adapter.Canceler)
	if !ok {
		return
	}
	c.spawn(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(c.background.of(r)), cancelGrace)
		defer stop()
		link, err := c.tasks.linkOf(ctx, r, f.traits.Opaque)
		if err == nil && link.Remote != "" {
			err = told.Cancel(ctx, link, r.ID)
		}
		if err != nil {
			c.zap.Info("the agent could not be told of a cancellation", errField(err), runField(r.ID), agentField(r.Agent))
		}
	})
}
