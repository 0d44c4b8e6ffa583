package owner

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// ownThreads removes the threads of an owner, with what agents have of them.
type ownThreads struct {
	*ledger
	owned       *store.Owners
	remover     Remover
	engine      Engine
	leaveCopies bool // see adapter.Removing
}

func (r ownThreads) remove() error {
	return eachThread(r.ctx, r.owned, r.owner, func(id string) error {
		return r.one("thread", id, func(ctx context.Context) error { return r.thread(ctx, id) })
	})
}

// busyMost is how often a thread that another run begins on is cleared.
const busyMost = 5

// thread ends its runs, has agents delete their copies, and deletes it.
func (r ownThreads) thread(ctx context.Context, id string) error {
	for try := 1; ; try++ {
		runs, err := r.remover.Clear(ctx, id)
		if err != nil {
			return err
		}
		if err := r.copies(ctx, id); err != nil {
			return err
		}
		err = r.remover.Remove(ctx, id, runs, r.owned.EraseThread)
		if err == nil || try == busyMost || mapping.Classify(err).Class != mapping.Conflict {
			return err
		}
	}
}

// copies has agents delete what they have of a thread. What they keep is told before the thread goes.
func (r ownThreads) copies(ctx context.Context, thread string) error {
	list, err := r.owned.Copies(ctx, thread)
	if err != nil {
		return err
	}
	// An agent that is told of principals may show others none of what is one's.
	asOwner := mapping.WithPrincipal(ctx, mapping.Principal{ID: r.owner, Tenant: tenantOf(ctx)})
	for _, l := range list {
		of := adapter.Removed{Outcome: adapter.IsRemoved, Kind: "copy", ID: l.Remote, Agent: l.Agent, Thread: thread}
		err := r.engine.DeleteUpstreamThread(asOwner, l)
		switch {
		case err == nil:
		case engine.IsPermanent(err), r.leaveCopies && ctx.Err() == nil:
			of.Outcome, of.Why = adapter.IsKept, r.whyKept(err)
		default:
			return mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "Agent %q has not deleted its copy %s: %s", l.Agent, l.Remote, r.reason(err))
		}
		if err := r.tell(of); err != nil {
			return err
		}
	}
	return nil
}

// whyKept is why an agent keeps a copy.
func (r ownThreads) whyKept(err error) string {
	if engine.IsPermanent(err) && mapping.Classify(err).Class == mapping.Internal {
		return err.Error() // the bridge's own words
	}
	return r.reason(err)
}

func tenantOf(ctx context.Context) string { return mapping.PrincipalOf(ctx).Tenant }
