package owner

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

func (r *removal) removeThreads() error {
	return eachThread(r.ctx, r.store.Owners, r.owner, func(id string) error {
		return r.one("thread", id, func(ctx context.Context) error { return r.removeThread(ctx, id) })
	})
}

// busyMost limits how often a thread is cleared if new runs keep starting on it.
const busyMost = 5

// removeThread ends the runs of a thread, deletes the agents' copies, and deletes the thread.
func (r *removal) removeThread(ctx context.Context, id string) error {
	for try := 1; ; try++ {
		runs, err := r.threads.ClearThread(ctx, id)
		if err != nil {
			return err
		}
		if err := r.deleteCopies(ctx, id); err != nil {
			return err
		}
		err = r.threads.RemoveThread(ctx, id, runs, r.store.Owners.EraseThread)
		if err == nil || try == busyMost || mapping.Classify(err).Class != mapping.Conflict {
			return err
		}
	}
}

// deleteCopies deletes the agents' copies of a thread. It reports copies that an agent keeps before the thread is
// deleted.
func (r *removal) deleteCopies(ctx context.Context, thread string) error {
	list, err := r.store.Owners.Copies(ctx, thread)
	if err != nil {
		return err
	}
	// An agent that receives principals may hide the owner's data from others.
	asOwner := mapping.WithPrincipal(ctx, mapping.Principal{ID: r.owner, Tenant: tenantOf(ctx)})
	for _, l := range list {
		of := adapter.Removed{Outcome: adapter.IsRemoved, Kind: "copy", ID: l.Remote, Agent: l.Agent, Thread: thread}
		err := r.engine.DeleteUpstreamThread(asOwner, l)
		switch {
		case err == nil:
		case engine.IsPermanent(err), r.how.LeaveCopies && ctx.Err() == nil:
			of.Outcome, of.Why = adapter.IsKept, r.whyKept(err)
		default:
			return mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "Agent %q did not delete its copy %s: %s", l.Agent, l.Remote, r.reason(err))
		}
		if err := r.tell(of); err != nil {
			return err
		}
	}
	return nil
}

// whyKept returns the reason why an agent keeps a copy.
func (r *removal) whyKept(err error) string {
	if engine.IsPermanent(err) && mapping.Classify(err).Class == mapping.Internal {
		return err.Error() // a message of the bridge itself
	}
	return r.reason(err)
}

func tenantOf(ctx context.Context) string { return mapping.PrincipalOf(ctx).Tenant }
