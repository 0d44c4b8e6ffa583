package engine

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// OnRemoved sets a function to call for each task that the engine removes or from which it removes a run. It must be
// called before Start.
func (e *Engine) OnRemoved(removed func(tenant, taskID string)) { e.taskRemoved = removed }

// runRemoved drops everything that this process has in memory about a removed run.
func (e *Engine) runRemoved(r mapping.Run) {
	e.log.Evict(r.ID)
	e.log.WakeThread(r.ThreadID) // its log need not have been in memory
	e.taskRemoved(r.Tenant, r.TaskID)
}

// ThreadsDeleted drops everything that this process has in memory about deleted threads. It deletes the agents' copies
// on a separate goroutine, one batch at a time.
func (e *Engine) ThreadsDeleted(gone []store.Gone) {
	var upstream []store.Gone
	for _, g := range gone {
		for _, r := range g.Runs {
			e.runRemoved(r)
		}
		for _, task := range g.Tasks {
			e.taskRemoved(g.Tenant, task)
		}
		e.log.WakeThread(g.ThreadID) // the thread may have had no run
		for _, l := range g.Links {
			if e.deletesUpstream(l) {
				upstream = append(upstream, g)
				break
			}
		}
	}
	if len(upstream) > 0 {
		e.runs.spawn(func() { e.deleteUpstream(upstream) })
	}
}

// deletesUpstream reports whether the agent of a link is configured to delete its threads (delete_upstream_threads:
// true).
func (e *Engine) deletesUpstream(l mapping.Link) bool {
	a := e.agent(l.Agent)
	return a != nil && a.Config.DeleteUpstreamThreads && l.Remote != ""
}

// deleteUpstream deletes the agents' copies of a batch of deleted threads.
func (e *Engine) deleteUpstream(gone []store.Gone) {
	select {
	case e.deletions <- struct{}{}:
		defer func() { <-e.deletions }()
	case <-e.root.Done():
		return
	}
	for _, g := range gone {
		ctx, stop := context.WithTimeout(mapping.WithPrincipal(e.root, mapping.Principal{Tenant: g.Tenant}), cancelGrace)
		e.DeleteUpstreamThreads(ctx, g.Links)
		stop()
	}
}

// DeleteUpstreamThreads deletes the agents' copies of a deleted thread if they are configured to do so
// (delete_upstream_threads). Failures are only logged, since the thread is gone here in any case. It needs no permit:
// an upstream thread belongs to only one thread, so deleting it late or twice does no harm.
func (e *Engine) DeleteUpstreamThreads(ctx context.Context, links []mapping.Link) {
	for _, l := range links {
		if !e.deletesUpstream(l) {
			continue
		}
		if err := e.DeleteUpstreamThread(ctx, l); err != nil && !errors.Is(err, errNoForgetter) {
			e.logger.Info("agent's copy of a deleted thread could not be deleted", errField(err), agentField(l.Agent))
		}
	}
}

// Reasons why an agent can never delete a thread.
var (
	errNoAgent     = errors.New("it is no longer in the configuration")
	errNoForgetter = errors.New("its protocol has no way to delete")
)

// IsPermanent reports whether DeleteUpstreamThread failed for a permanent reason.
func IsPermanent(err error) bool {
	return errors.Is(err, errNoAgent) || errors.Is(err, errNoForgetter) || mapping.Classify(err).Code == mapping.CodeNotSupported
}

// DeleteUpstreamThread deletes an agent's copy of a thread, regardless of its configuration. It is not an error if
// there is none. Like DeleteUpstreamThreads it needs no permit.
func (e *Engine) DeleteUpstreamThread(ctx context.Context, l mapping.Link) error {
	ctx, stop := context.WithTimeout(ctx, cancelGrace)
	defer stop()
	f, err := e.forgetter(ctx, l.Agent)
	if err != nil {
		return err
	}
	return f.Forget(ctx, l)
}

// DiscardUpstreamThread deletes an agent's copy of a thread if no thread of ours refers to it. A failure is only
// logged.
func (e *Engine) DiscardUpstreamThread(ctx context.Context, l mapping.Link) {
	if err := e.DeleteUpstreamThread(context.WithoutCancel(ctx), l); err != nil {
		e.logger.Info("unused copy of a thread could not be deleted from the agent", errField(err), agentField(l.Agent))
	}
}

// CanDeleteUpstream returns why an agent cannot delete its threads. It returns nil if it can, or if that is not known
// without querying the agent.
func (e *Engine) CanDeleteUpstream(name string) error {
	agent := e.agent(name)
	if agent == nil {
		return errNoAgent
	}
	if f := agent.found.Load(); f != nil {
		if _, ok := f.backend.(adapter.Forgetter); !ok {
			return errNoForgetter
		}
	}
	return nil
}

func (e *Engine) forgetter(ctx context.Context, name string) (adapter.Forgetter, error) {
	agent := e.agent(name)
	if agent == nil {
		return nil, errNoAgent
	}
	b, _, err := agent.Backend(ctx)
	if err != nil {
		return nil, err
	}
	f, ok := b.(adapter.Forgetter)
	if !ok {
		return nil, errNoForgetter
	}
	return f, nil
}
