package service

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/owned"
	"go.uber.org/zap"
)

const codeRemoving = "removal_running"

// passesMost is how often all is looked through again for what an owner has made meanwhile.
const passesMost = 5

// removal is one removal of an owner's data. Not for concurrent use.
type removal struct {
	*owners
	ctx   context.Context
	owner string
	how   adapter.Removing
	told  func(adapter.Removed) error
	went  int                 // how many things went in this pass
	stays map[string]struct{} // threads and runs that could not be removed
}

// Remove deletes in an order in which whatever is left when it is stopped can be found again: what would make more
// comes first, and a thread comes after its copies, since nothing else knows of these.
func (s *owners) Remove(ctx context.Context, who adapter.OwnerRef, how adapter.Removing, told func(adapter.Removed) error) error {
	ctx, tenant, err := s.reach(ctx, who)
	if err != nil {
		return err
	}
	mapping.NoteObject(ctx, "owner", who.ID)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	default:
		return mapping.Errorf(mapping.Conflict, codeRemoving, "The data of an owner is being removed already. Try again when that has ended.")
	}
	r := &removal{owners: s, ctx: ctx, owner: who.ID, how: how, told: told, stays: map[string]struct{}{}}
	if err := s.st.Owners.Overwriting(ctx, r.passes); err != nil {
		return err
	}
	if err := r.left(tenant); err != nil {
		return err
	}
	return r.rewrite()
}

// passes looks through all until nothing more goes: what was made meanwhile goes, too.
func (r *removal) passes() error {
	for range passesMost {
		r.went = 0
		for _, part := range []func() error{r.crons, r.threads, r.runs, r.tasks, r.assistants, r.items} {
			if err := part(); err != nil {
				return err
			}
		}
		if r.went == 0 {
			break
		}
	}
	return r.st.Owners.EraseCounts(r.ctx, r.owner)
}

// left tells what there still is.
func (r *removal) left(tenant string) error {
	held, err := r.held(r.ctx, tenant, r.owner)
	if err != nil || len(held.Kinds) == 0 {
		return err
	}
	for _, k := range held.Kinds {
		why := "they are still there: see above, or the owner makes new ones. Take its key away first"
		if err := r.told(adapter.Removed{Outcome: adapter.IsFailed, Kind: k.Kind, Count: int(k.Count), Why: why}); err != nil {
			return err
		}
	}
	return nil
}

// rewrite leaves no byte in a SQLite file of what was deleted or replaced.
func (r *removal) rewrite() error {
	done := adapter.Removed{Outcome: adapter.IsRemoved, Kind: "database"}
	if r.how.KeepFile {
		done.Outcome = adapter.IsKept
		done.Why = "the file was not made anew, as was asked for: bytes that were replaced earlier may be in it, and in its log until that is written anew"
		return r.told(done)
	}
	ours, err := r.st.Owners.Rewrite(r.ctx)
	switch {
	case err != nil:
		done.Outcome, done.Why = adapter.IsFailed, "the file could not be made anew: "+r.reason(err)
	case !ours:
		done.Outcome, done.Why = adapter.IsKept, "PostgreSQL keeps deleted rows until its VACUUM, and its write-ahead log as long as it is told to"
	}
	return r.told(done)
}

// reason is an error in words for administrators. What is internal is for the log.
func (r *removal) reason(err error) string {
	if e := mapping.Classify(err); e.Class != mapping.Internal {
		return e.Message
	}
	r.zap.Error("something of an owner could not be removed", zap.Error(err))
	return "an internal error: the log of the bridge has it"
}

// gone tells of something that was removed, and leaves a line in the audit log.
func (r *removal) gone(kind, id string) error {
	r.went++
	return r.told(adapter.Removed{Outcome: adapter.IsRemoved, Kind: kind, ID: id})
}

// unless notes what could not be removed. That ends nothing but the end of the request.
func (r *removal) unless(kind, id string, err error) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if mapping.Classify(err).Code == store.CodeUnavailable || mapping.Classify(err).Class == mapping.StorageFull {
		return err
	}
	r.stays[id] = struct{}{}
	return r.told(adapter.Removed{Outcome: adapter.IsFailed, Kind: kind, ID: id, Why: r.reason(err)})
}

func (r *removal) crons() error {
	return each(func(behind string) ([]string, error) { return r.st.Owners.Crons(r.ctx, r.owner, behind) }, func(id string) error {
		return r.one("cron", id, func(ctx context.Context) error {
			if err := r.st.Owners.EraseTraces(ctx, id); err != nil {
				return err
			}
			return r.st.Crons.Delete(ctx, id)
		})
	})
}

func (r *removal) assistants() error {
	return each(func(behind string) ([]string, error) { return r.st.Owners.Assistants(r.ctx, r.owner, behind) }, func(id string) error {
		return r.one("assistant", id, func(ctx context.Context) error {
			if err := r.st.Owners.EraseTraces(ctx, id); err != nil {
				return err
			}
			return r.st.Assistants.Delete(ctx, id)
		})
	})
}

// one removes one thing, with a line of its own in the audit log. What is gone already is no failure.
func (r *removal) one(kind, id string, remove func(context.Context) error) error {
	if _, stays := r.stays[id]; stays {
		return nil
	}
	ctx, done := mapping.NoteAlso(r.ctx, kind)
	mapping.NoteVerb(ctx, mapping.Deleted)
	mapping.NoteObject(ctx, kind, id)
	err := unlessGone(remove(ctx))
	done(err)
	if err != nil {
		return r.unless(kind, id, err)
	}
	return r.gone(kind, id)
}

func (r *removal) items() error {
	for {
		n, err := r.st.Items.RemoveOwned(r.ctx, r.owner)
		if err != nil || n == 0 {
			return err
		}
		r.went += n
		if err := r.told(adapter.Removed{Outcome: adapter.IsRemoved, Kind: "items", Count: n}); err != nil {
			return err
		}
	}
}

func (r *removal) threads() error {
	return r.eachThread(r.ctx, r.owner, func(id string) error {
		return r.one("thread", id, func(ctx context.Context) error { return r.thread(ctx, id) })
	})
}

// busyMost is how often a thread that another run begins on is cleared.
const busyMost = 5

// thread ends its runs, has agents delete their copies, and deletes it.
func (r *removal) thread(ctx context.Context, id string) error {
	own := &threads{r.core}
	for try := 1; ; try++ {
		runs, err := own.clear(ctx, id)
		if err != nil {
			return err
		}
		if err := r.copies(ctx, id); err != nil {
			return err
		}
		err = own.remove(ctx, id, runs, r.st.Owners.EraseThread)
		if err == nil || try == busyMost || mapping.Classify(err).Class != mapping.Conflict {
			return err
		}
	}
}

// copies has agents delete what they have of a thread. What they keep is told before the thread goes.
func (r *removal) copies(ctx context.Context, thread string) error {
	list, err := r.st.Owners.Copies(ctx, thread)
	if err != nil {
		return err
	}
	// An agent that is told of principals may show others none of what is one's.
	asOwner := mapping.WithPrincipal(ctx, mapping.Principal{ID: r.owner, Tenant: tenantOf(ctx)})
	for _, l := range list {
		of := adapter.Removed{Outcome: adapter.IsRemoved, Kind: "copy", ID: l.Remote, Agent: l.Agent, Thread: thread}
		err := r.engine.RemoveCopy(asOwner, l)
		switch {
		case err == nil:
		case engine.CopyStays(err), r.how.LeaveCopies && ctx.Err() == nil:
			of.Outcome, of.Why = adapter.IsKept, r.whyKept(err)
		default:
			return mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "Agent %q has not deleted its copy %s: %s", l.Agent, l.Remote, r.reason(err))
		}
		if err := r.told(of); err != nil {
			return err
		}
	}
	return nil
}

// whyKept is why an agent keeps a copy.
func (r *removal) whyKept(err error) string {
	if engine.CopyStays(err) && mapping.Classify(err).Class == mapping.Internal {
		return err.Error() // the bridge's own words
	}
	return r.reason(err)
}

// runs removes those on threads of others. What they said there is a part of those threads.
func (r *removal) runs() error {
	return eachGuest(func(behind string) ([]owned.Guest, error) { return r.st.Owners.GuestRuns(r.ctx, r.owner, behind) }, func(g owned.Guest) error {
		if _, stays := r.stays[g.ID]; stays {
			return nil
		}
		if err := r.one("run", g.ID, func(ctx context.Context) error { return r.run(ctx, g) }); err != nil {
			return err
		}
		return r.kept("thread", g.ThreadID, "it is of another owner, and its state may have what was said there")
	})
}

func (r *removal) run(ctx context.Context, g owned.Guest) error {
	run, err := r.st.Runs.Get(ctx, g.ThreadID, g.ID)
	if err != nil {
		return err
	}
	if run.Status.Active() {
		if err := r.engine.Cancel(ctx, run, engine.Cancellation{Reason: mapping.CancelledByRequest}); err != nil && mapping.Classify(err).Class != mapping.Conflict {
			return err
		}
	}
	if err := r.st.Owners.EraseTraces(ctx, g.ID); err != nil {
		return err
	}
	if err := r.st.Runs.Delete(ctx, g.ThreadID, g.ID); err != nil {
		return err
	}
	r.forget(*run)
	return nil
}

func (r *removal) kept(kind, id, why string) error {
	return r.told(adapter.Removed{Outcome: adapter.IsKept, Kind: kind, ID: id, Why: why})
}

// tasks removes those on threads of others that have no runs of others.
func (r *removal) tasks() error {
	return eachGuest(func(behind string) ([]owned.Guest, error) { return r.st.Owners.GuestTasks(r.ctx, r.owner, behind) }, func(g owned.Guest) error {
		return r.one("task", g.ID, func(ctx context.Context) error {
			removed, err := r.st.Owners.EraseTask(ctx, g.ID)
			if err == nil && !removed {
				err = mapping.Errorf(mapping.Conflict, "task_has_runs", "Another owner has made runs of this task, on thread %s.", g.ThreadID)
			}
			if err == nil {
				r.stepper.Forget(tenantOf(ctx), g.ID)
			}
			return err
		})
	})
}

func tenantOf(ctx context.Context) string { return mapping.PrincipalOf(ctx).Tenant }
